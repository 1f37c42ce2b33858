// SPDX-License-Identifier: Apache-2.0
// Bundles: what is read is in order, within its bounds and what its index states; all else is a
// refusal in one line. Each input is tried as a bundle, and as a part of one whose other parts and
// digests are right, so that what lies behind them is reached too: as its index with the frames
// behind a zero byte, as a frame, and as the file in a frame.
#include "src/bundle/compression.hpp"
#include "src/bundle/import.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <quantjit/error.hpp>

#include <algorithm>

namespace quantjit::fuzz {
namespace {

using bundle::Header;
using bundle::IndexEntry;
using bundle::kHeaderBytes;

void try_bundle(std::string bytes) {
  const std::uint64_t size = bytes.size();
  try {
    const bundle::Reader reader(bundle::from_memory("input", std::move(bytes)));
    std::uint64_t at = kHeaderBytes;
    const IndexEntry* before = nullptr;
    for (const IndexEntry& entry : reader.entries()) {
      require(entry.at == at && entry.packed_bytes <= size - at, "frames lie one behind the other");
      require(before == nullptr || before->key < entry.key, "keys ascend");
      require(entry.key.valid() && entry.bytes <= cache::kMaxFileBytes, "entries are bounded");
      at += entry.packed_bytes;
      before = &entry;
      const bundle::ReadEntry read = reader.read(entry);
      require(read.entry.has_value() == read.problem.empty(), "what is no entry has a reason");
      require(!read.entry || read.entry->key == entry.key, "an entry is the one that is stated");
    }
    require(at == reader.header().index_at, "frames fill the bundle");
    static_cast<void>(reader.check_signature(std::nullopt));
  } catch (const Error& refusal) {
    require_message(refusal.what());
  }
}

std::string assemble(const std::string& index, const std::string& frames) {
  const std::string packed = bundle::compress(index);
  const Header header{
      .file_bytes = kHeaderBytes + frames.size() + packed.size(),
      .index_at = kHeaderBytes + frames.size(),
      .index_packed_bytes = packed.size(),
      .index_bytes = index.size(),
      .entries = static_cast<std::uint64_t>(std::count(index.begin(), index.end(), '\n')),
      .index_sha256 = base::sha256(packed),
      .signature = std::nullopt};
  return bundle::encode(header) + frames + packed;
}

/// A bundle of one frame of which everything that is stated is right but its unpacked size.
std::string around_frame(const std::string& frame, std::uint64_t bytes, const std::string& sha256) {
  IndexEntry entry;
  entry.key = {std::string(64, 'a'), std::string(16, 'b')};
  entry.traits = "traits";
  entry.arch = "sm_90a";
  entry.math = "fast";
  entry.code_kind = "cubin";
  entry.bytes = bytes;
  entry.packed_bytes = frame.size();
  entry.sha256 = sha256;
  entry.packed_sha256 = base::to_hex(base::sha256(frame));
  return assemble(bundle::write_index({entry}), frame);
}

}  // namespace

void fuzz_bundle(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try_bundle(bytes);
  if (bundle::compression_version().empty() || size == 0) {
    return;
  }
  const std::size_t zero = std::min(bytes.find('\0'), bytes.size());
  try_bundle(assemble(bytes.substr(0, zero), bytes.substr(std::min(zero + 1, bytes.size()))));
  try_bundle(around_frame(bytes, 1 + size * 3, std::string(64, '0')));
  const std::string frame = bundle::compress(bytes);
  try_bundle(around_frame(frame, size, base::to_hex(base::sha256(bytes))));
}

}  // namespace quantjit::fuzz

QUANTJIT_FUZZ_MAIN(fuzz_bundle)

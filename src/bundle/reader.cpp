// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/reader.hpp"

#include "cache/context.hpp"
#include "src/bundle/compression.hpp"
#include "src/bundle/signature.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <utility>

namespace quantjit::bundle {
namespace {

std::string join(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) {
    joined += (joined.empty() ? "" : ", ") + text;
  }
  return joined.empty() ? "none" : joined;
}

}  // namespace

Reader::Reader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {
  const cache::IoResult<std::string> first =
      source_->read(0, std::min<std::uint64_t>(source_->size(), kHeaderBytes));
  if (!first.ok()) {
    refuse("it cannot be read: " + cache::describe_error(first.error));
  }
  DecodedHeader decoded = decode(first.value, source_->size());
  if (!decoded.header) {
    refuse(decoded.problem);
  }
  header_ = *decoded.header;
  const cache::IoResult<std::string> packed =
      source_->read(header_.index_at, header_.index_packed_bytes);
  if (!packed.ok()) {
    refuse("its index cannot be read: " + cache::describe_error(packed.error));
  }
  if (base::sha256(packed.value) != header_.index_sha256) {
    refuse("its index was changed");
  }
  const std::optional<std::string> text = decompress(packed.value, header_.index_bytes);
  if (!text) {
    refuse("its index cannot be unpacked");
  }
  ParsedIndex index = parse_index(*text, header_.entries, kHeaderBytes, header_.index_at);
  if (!index.problem.empty()) {
    refuse(index.problem);
  }
  entries_ = std::move(index.entries);
}

void Reader::refuse(const std::string& problem) const {
  throw Error("the bundle " + name() + " cannot be used: " + problem +
              "; nothing of it was taken, fetch or export it again");
}

EntryBytes Reader::read_bytes(const IndexEntry& entry) const {
  const cache::IoResult<std::string> packed = source_->read(entry.at, entry.packed_bytes);
  if (!packed.ok()) {
    return {std::nullopt, "it cannot be read: " + cache::describe_error(packed.error)};
  }
  if (base::to_hex(base::sha256(packed.value)) != entry.packed_sha256) {
    return {std::nullopt, "its bytes were changed"};
  }
  std::optional<std::string> bytes = decompress(packed.value, entry.bytes);
  if (!bytes) {
    return {std::nullopt, "it cannot be unpacked to the size that the index states"};
  }
  if (base::to_hex(base::sha256(*bytes)) != entry.sha256) {
    return {std::nullopt, "it has another digest than the index states"};
  }
  return {std::move(bytes), {}};
}

ReadEntry Reader::read(const IndexEntry& entry) const {
  EntryBytes file = read_bytes(entry);
  if (!file.bytes) {
    return {std::nullopt, std::move(file.problem)};
  }
  cache::ParsedEntry parsed = cache::parse(*file.bytes);
  if (!parsed.entry) {
    return {std::nullopt, std::string(cache::rejection_text(parsed.rejection))};
  }
  if (parsed.entry->key != entry.key) {
    return {std::nullopt, std::string(cache::rejection_text(cache::Rejection::kKey))};
  }
  const std::optional<IndexEntry> described = describe(*parsed.entry);
  if (!described) {
    return {std::nullopt, "its key is not the one of its key text"};
  }
  if (described->traits != entry.traits || described->arch != entry.arch ||
      described->math != entry.math || described->code_kind != entry.code_kind) {
    return {std::nullopt, "it is of another descriptor or target than the index states"};
  }
  return {std::move(parsed.entry), {}};
}

SignatureStatus Reader::check_signature(const std::optional<PublicKey>& wanted) const {
  if (!header_.signature) {
    if (wanted) {
      refuse("it is not signed");
    }
    return SignatureStatus::kNone;
  }
  if (!wanted && signature_version().empty()) {
    return SignatureStatus::kUnchecked;
  }
  if (wanted && *wanted != header_.signature->key) {
    refuse("it is signed by another key, " + base::to_hex(header_.signature->key));
  }
  if (!verifies(*header_.signature, signed_bytes(header_))) {
    refuse("its signature is not the one of its content");
  }
  return wanted ? SignatureStatus::kTrusted : SignatureStatus::kConsistent;
}

std::vector<std::string> Reader::archs() const {
  std::vector<std::string> archs;
  for (const IndexEntry& entry : entries_) {
    archs.push_back(entry.arch);
  }
  std::sort(archs.begin(), archs.end());
  archs.erase(std::unique(archs.begin(), archs.end()), archs.end());
  return archs;
}

void Reader::require_archs(const std::vector<std::string>& wanted) const {
  const std::vector<std::string> present = archs();
  std::vector<std::string> missing;
  for (const std::string& arch : wanted) {
    if (!std::binary_search(present.begin(), present.end(), arch)) {
      missing.push_back(arch);
    }
  }
  if (!missing.empty()) {
    throw Error("the bundle " + name() + " holds nothing for " + join(missing) + ", only for " +
                join(present) + "; export one with these targets, nothing of this one was taken");
  }
}

}  // namespace quantjit::bundle

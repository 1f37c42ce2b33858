// SPDX-License-Identifier: Apache-2.0
#include "tests/support/bundle_fixture.hpp"

#include "src/base/key_text.hpp"
#include "src/bundle/compression.hpp"
#include "src/bundle/import.hpp"
#include "src/bundle/writer.hpp"
#include "tests/support/cache_fixture.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <random>

namespace quantjit::bundle {

cache::Entry kernel_entry(std::uint64_t seed, const std::string& arch, std::size_t code_bytes) {
  cache::Entry entry;
  base::append_key_field(entry.key_text, "schema", "1");
  base::append_key_field(entry.key_text, "traits", "per_token_quant:seed=" + std::to_string(seed));
  base::append_key_field(entry.key_text, "math", "fast");
  base::append_key_field(entry.key_text, "arch", arch);
  base::append_key_field(entry.key_text, "code", "cubin");
  entry.key.request = base::to_hex(base::sha256(entry.key_text));
  entry.key.toolchain = "00112233445566aa";
  entry.toolchain_rank = 13000;
  entry.metadata = R"({"registers":32})";
  std::mt19937_64 random(seed);
  entry.code.resize(code_bytes);
  std::generate(entry.code.begin(), entry.code.end(), [&] { return static_cast<char>(random()); });
  return entry;
}

std::vector<cache::Entry> kernel_entries(std::uint64_t count) {
  std::vector<cache::Entry> entries;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    entries.push_back(kernel_entry(seed));
  }
  std::sort(entries.begin(), entries.end(),
            [](const cache::Entry& a, const cache::Entry& b) { return a.key < b.key; });
  return entries;
}

std::string write_bundle(const std::string& path, std::vector<cache::Entry> entries,
                         const std::string& signing_key) {
  std::sort(entries.begin(), entries.end(),
            [](const cache::Entry& a, const cache::Entry& b) { return a.key < b.key; });
  Writer writer(cache::posix_file_system(), path);
  for (const cache::Entry& entry : entries) {
    writer.add(entry);
  }
  writer.finish(signing_key);
  return cache::read_all(path);
}

Part part_of(IndexEntry stated, const std::string& file) {
  std::string frame = compress(file);
  stated.bytes = file.size();
  stated.packed_bytes = frame.size();
  stated.sha256 = base::to_hex(base::sha256(file));
  stated.packed_sha256 = base::to_hex(base::sha256(frame));
  return {std::move(stated), std::move(frame)};
}

Part honest_part(const cache::Entry& entry) {
  return part_of(describe(entry).value(), cache::serialize(entry));
}

std::string assemble(const std::vector<Part>& parts) {
  std::vector<IndexEntry> stated;
  std::string frames;
  for (const Part& part : parts) {
    stated.push_back(part.stated);
    frames += part.frame;
  }
  return assemble(write_index(stated), frames, parts.size());
}

std::string assemble(const std::string& index, const std::string& frames, std::uint64_t entries) {
  const std::string packed = compress(index);
  const Header header{.file_bytes = kHeaderBytes + frames.size() + packed.size(),
                      .index_at = kHeaderBytes + frames.size(),
                      .index_packed_bytes = packed.size(),
                      .index_bytes = index.size(),
                      .entries = entries,
                      .index_sha256 = base::sha256(packed),
                      .signature = std::nullopt};
  return encode(header) + frames + packed;
}

std::string problem_of(const std::string& bytes) {
  try {
    const Reader reader(from_memory("b", bytes));
    const std::vector<EntryProblem> problems = verify_entries(reader, {});
    return problems.empty() ? std::string() : problems.front().reason;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace quantjit::bundle

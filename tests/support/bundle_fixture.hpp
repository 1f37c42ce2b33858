// SPDX-License-Identifier: Apache-2.0
// What the tests of bundles share: entries with real key texts, and bundles that state what is not
// so under digests that are right.
#pragma once

#include "cache/entry.hpp"
#include "src/bundle/format.hpp"
#include "src/bundle/index.hpp"
#include "src/bundle/reader.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace quantjit::bundle {

/// Entry number `seed` for a target: same arguments, same entry.
[[nodiscard]] cache::Entry kernel_entry(std::uint64_t seed, const std::string& arch = "sm_90a",
                                        std::size_t code_bytes = 200);
/// Entries 1 to `count`, in ascending order of keys.
[[nodiscard]] std::vector<cache::Entry> kernel_entries(std::uint64_t count);

/// Writes a bundle of these entries, in whatever order they are, and returns its bytes.
std::string write_bundle(const std::string& path, std::vector<cache::Entry> entries,
                         const std::string& signing_key = {});

/// What the index says about a file that stands for an entry.
struct Part {
  IndexEntry stated;
  std::string frame;  ///< as it stands in the bundle
};

/// The part that an honest writer would make of an entry.
[[nodiscard]] Part honest_part(const cache::Entry& entry);
/// A part of which all digests and sizes are right, whatever `file` is.
[[nodiscard]] Part part_of(IndexEntry stated, const std::string& file);

/// A bundle of these parts, in this order, with a right header and index digest.
[[nodiscard]] std::string assemble(const std::vector<Part>& parts);
/// A bundle with this index text around these frames; `entries` is what the header states.
[[nodiscard]] std::string assemble(const std::string& index, const std::string& frames,
                                   std::uint64_t entries);

/// What is wrong with a bundle, read in full: the message of its reader, else the first entry's
/// problem; empty if it is good.
[[nodiscard]] std::string problem_of(const std::string& bytes);

}  // namespace quantjit::bundle

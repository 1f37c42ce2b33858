// SPDX-License-Identifier: Apache-2.0
// From a bundle into a store.
#pragma once

#include "cache/store.hpp"
#include "src/bundle/reader.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace quantjit::bundle {

/// An entry and what is wrong with it.
struct EntryProblem {
  IndexEntry entry;
  std::string reason;
};

struct ImportReport {
  std::string root;  ///< the root that took them
  std::uint64_t imported = 0;
  std::uint64_t already_there = 0;
  std::vector<EntryProblem> failed;
};

/// Reads and verifies every entry whose target is in `archs` (all if that is empty) and keeps none.
[[nodiscard]] std::vector<EntryProblem> verify_entries(const Reader& bundle,
                                                       const std::vector<std::string>& archs);

/// Publishes the entries whose target is in `archs` (all if that is empty) to the store's written
/// root. Entries that it has in good order stay as they are. Everything is verified before the
/// first one is published, so that a bundle that is bad in any place changes nothing; what the
/// operating system refuses afterwards ends in `failed`.
/// Throws: Error if an entry is bad, the store takes no writes, or its size limit is too small.
ImportReport import_entries(const Reader& bundle, cache::CubinStore& store,
                            const std::vector<std::string>& archs, std::uint64_t max_bytes);

}  // namespace quantjit::bundle

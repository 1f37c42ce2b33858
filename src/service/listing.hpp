// SPDX-License-Identifier: Apache-2.0
// The entries of a store with what their keys are made of.
#pragma once

#include "cache/store.hpp"

#include <string>
#include <vector>

namespace quantjit::service {

struct StoredEntry {
  cache::ListedEntry listed;
  std::string key_text;  ///< empty if the entry has no good head: it is damaged
};

/// As CubinStore::list(). Reads the beginning of each file.
[[nodiscard]] std::vector<StoredEntry> list_entries(cache::CubinStore& store);

}  // namespace quantjit::service

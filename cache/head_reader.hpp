// SPDX-License-Identifier: Apache-2.0
// Reading the beginnings of entries, for searches that need no code.
#pragma once

#include "cache/entry.hpp"
#include "cache/file_system.hpp"

#include <optional>
#include <string>

namespace quantjit::cache {

/// Head of the entry at `path`, not verified; nothing if it has none.
[[nodiscard]] std::optional<EntryHead> read_head(FileSystem& files, const std::string& path);

}  // namespace quantjit::cache

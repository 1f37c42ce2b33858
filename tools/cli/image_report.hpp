// SPDX-License-Identifier: Apache-2.0
// What several commands say about compiled images and where they are kept.
#pragma once

#include "tools/cli/value.hpp"

#include <quantjit/cache.hpp>
#include <quantjit/kernel.hpp>

#include <string>

namespace quantjit::cli {

/// The entry points as an array of {name, lowered_name, registers, spill_bytes, shared_bytes,
/// pdl_wait}.
[[nodiscard]] Value::Array entry_points_value(const ImageInfo& info);

/// e.g. "40 registers, 0 bytes spilled, 0 bytes of shared memory"; for PTX, which does not say, a
/// text that says so.
[[nodiscard]] std::string resources_text(const ImageInfo& info, const EntryPointInfo& entry);

/// Registers of all entry points, e.g. "40/38"; "-" where unknown.
[[nodiscard]] std::string registers_text(const ImageInfo& info);

/// A key short enough for a table: its first 16 digits, which `cache inspect` takes for the whole.
[[nodiscard]] std::string short_key(const std::string& key);

/// What is known about a root.
[[nodiscard]] Value root_value(const CacheRootStatus& root);

/// One line about a root: its path and how far it can be used.
[[nodiscard]] std::string root_text(const CacheRootStatus& root);

}  // namespace quantjit::cli

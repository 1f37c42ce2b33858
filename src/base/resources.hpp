// SPDX-License-Identifier: Apache-2.0
// What this process may still use of the machine: memory and cores, within its control groups.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace quantjit::base {

/// Bytes that this process may take before its machine or one of its control groups (version 1 or
/// 2) is out of memory; the smallest of them. File cache that can be dropped counts as free.
/// Nothing if none of them can be read.
/// @param root folder that holds `proc` and `sys`
[[nodiscard]] std::optional<std::uint64_t> available_memory(
    const std::filesystem::path& root = "/");

/// Cores that the process may keep busy: those it may run on, and no more than the time quota of
/// its control groups (rounded up). At least 1.
[[nodiscard]] int usable_cores(const std::filesystem::path& root = "/");

}  // namespace quantjit::base

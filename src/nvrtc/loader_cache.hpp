// SPDX-License-Identifier: Apache-2.0
// The dynamic loader's cache of library paths, read as a file. Private to this module.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace quantjit::nvrtc {

/// Paths of the libraries in a loader cache (the content of ld.so.cache) that are for this
/// machine's kind of processor and whose name begins with `prefix`, in the cache's order.
/// Empty for a damaged or unknown file; never reads outside `cache`.
[[nodiscard]] std::vector<std::filesystem::path> libraries_in_loader_cache(
    std::span<const std::byte> cache, std::string_view prefix);

}  // namespace quantjit::nvrtc

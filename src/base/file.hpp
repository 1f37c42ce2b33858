// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace quantjit::base {

/// Whole content of a regular file, or nothing if it cannot be opened or read.
[[nodiscard]] std::optional<std::string> read_file(const std::filesystem::path& path);

}  // namespace quantjit::base

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace quantjit::cli {

/// Writes a whole file. Throws: CommandFailure with the path and the reason.
void write_output_file(const std::string& path, std::span<const std::byte> bytes);

/// Makes a directory and its parents. Throws: CommandFailure with the path and the reason.
void make_output_directory(const std::string& path);

}  // namespace quantjit::cli

// SPDX-License-Identifier: Apache-2.0
// Recorded cases: what the original kernels gave on an H200, one JSON object a line.
#pragma once

#include "src/io/problem.hpp"

#include <quantjit/reference.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::io {

/// One recorded case.
struct GoldenCase {
  std::string name;
  std::string reference;  ///< the original that was recorded, e.g. "sglang_unified"
  Problem problem;
  MathMode math = MathMode::kFast;  ///< of the recorded build
  std::string q_sha256;             ///< of the whole buffer, poison included
  std::string s_sha256;
  std::optional<std::vector<std::byte>> q_bytes;  ///< the buffer itself, for small cases
  std::optional<std::vector<std::byte>> s_bytes;
};

/// The machine the cases were recorded on: sm_90a with 132 multiprocessors, in the case's mode.
[[nodiscard]] reference::Target golden_target(const GoldenCase& recorded);

/// Parses one line. Throws: InvalidArgument that names the line number and the key.
[[nodiscard]] GoldenCase parse_golden_case(std::string_view line, std::size_t line_number);

/// All cases of a file; empty lines are skipped. Throws: InvalidArgument for a file that cannot be
/// read and for the first malformed line.
[[nodiscard]] std::vector<GoldenCase> read_golden_cases(const std::filesystem::path& path);

/// Compares whole output buffers with the recording. Nothing if they are equal, else which buffer
/// differs and, where the bytes were recorded, how many bytes and the first of them.
[[nodiscard]] std::optional<std::string> golden_mismatch(const GoldenCase& recorded,
                                                         std::span<const std::byte> q,
                                                         std::span<const std::byte> s);

}  // namespace quantjit::io

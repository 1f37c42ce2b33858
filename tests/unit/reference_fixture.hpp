// SPDX-License-Identifier: Apache-2.0
// One small call of the CPU reference on values that a test chooses.
#pragma once

#include "src/io/problem.hpp"

#include <quantjit/reference.hpp>
#include <quantjit/traits.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace quantjit::test {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// sm_90a or sm_100a with the math mode that is asked for.
reference::Target target_of(const char* arch = "sm_90a", MathMode math = MathMode::kAuto);

/// A call with poisoned outputs whose input is all zeros.
struct Call {
  io::Problem problem;
  io::ProblemBuffers buffers;
  reference::Target target = target_of();

  /// Sets input element `index` (row-major) to the value, which the type must hold exactly.
  void set(std::size_t index, float value);
  /// Sets it by bit pattern.
  void set_bits(std::size_t index, std::uint32_t bits);
  void run();

  [[nodiscard]] int code(std::size_t index) const;                  ///< byte of q
  [[nodiscard]] std::uint32_t scale_word(std::size_t index) const;  ///< 32-bit word of s
  [[nodiscard]] int scale_byte(std::size_t index) const;            ///< byte of s
};

/// A call by trait text and shape; `masked_m` makes it a masked one.
Call make_call(const std::string& text, std::int64_t tokens, std::int64_t hidden,
               std::vector<std::int64_t> masked_m = {}, std::int64_t pad_rows = 0);

/// One row of values through an operation, its length filled up with zeros.
struct Row {
  std::vector<int> codes;
  std::uint32_t scale = 0;  ///< first word of s
};

Row quantize(const std::string& text, const std::vector<float>& values,
             const reference::Target& target = target_of());

}  // namespace quantjit::test

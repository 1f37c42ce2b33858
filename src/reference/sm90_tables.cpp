// SPDX-License-Identifier: Apache-2.0
#include "src/reference/sm90_tables.hpp"

#include "src/reference/soft_float.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

// NOLINTBEGIN(readability-identifier-naming): symbols of the assembler file that embeds the tables
extern "C" {
// 2 bits a 23-bit fraction, four a byte, lowest first: 0 equal, 1 one ulp above, 2 one ulp below
// the correctly rounded reciprocal of 1.fraction.
extern const std::uint8_t quantjit_sm90_rcp_delta[(std::size_t{1} << 23U) / 4];
extern const std::uint8_t quantjit_sm90_silu_bf16[65536 * 2];
extern const std::uint8_t quantjit_sm90_silu_f16[65536 * 2];
}

// NOLINTEND(readability-identifier-naming)

namespace quantjit::reference {

namespace {

std::uint16_t entry(const std::uint8_t* table, std::uint16_t index) {
  const std::size_t at = std::size_t{index} * 2;
  return static_cast<std::uint16_t>(table[at] | (table[at + 1] << 8));
}

/// The approximation for 1.fraction, in (0.5, 1].
float rcp_of_mantissa(std::uint32_t fraction) {
  const float rounded = 1.0F / float_from_bits(0x3F800000U | fraction);
  const unsigned code = (quantjit_sm90_rcp_delta[fraction >> 2U] >> ((fraction & 3U) * 2)) & 3U;
  const std::uint32_t bits = bits_of(rounded);
  return float_from_bits(code == 1 ? bits + 1 : code == 2 ? bits - 1 : bits);
}

}  // namespace

float rcp_approx_ftz(float value) {
  if (std::isnan(value)) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const float argument = flush_subnormal(value);
  if (std::isinf(argument)) {
    return std::copysign(0.0F, argument);
  }
  if (argument == 0.0F) {
    return std::copysign(std::numeric_limits<float>::infinity(), argument);
  }
  const std::uint32_t bits = bits_of(argument);
  const int exponent = static_cast<int>((bits >> 23U) & 0xFFU) - 127;
  // In double, where the scaled value is exact whatever its exponent.
  const double magnitude =
      std::ldexp(static_cast<double>(rcp_of_mantissa(bits & 0x7FFFFFU)), -exponent);
  const float result = magnitude < 0x1p-126 ? 0.0F : static_cast<float>(magnitude);
  return std::copysign(result, argument);
}

std::uint16_t silu_bf16(std::uint16_t gate) {
  return entry(quantjit_sm90_silu_bf16, gate);
}

std::uint16_t silu_f16(std::uint16_t gate) {
  return entry(quantjit_sm90_silu_f16, gate);
}

}  // namespace quantjit::reference

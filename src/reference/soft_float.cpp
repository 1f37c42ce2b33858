// SPDX-License-Identifier: Apache-2.0
#include "src/reference/soft_float.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace quantjit::reference {

namespace {

/// A 16-bit binary format with an implicit leading bit, subnormals and infinities.
struct Format {
  int precision;     ///< significant bits, the implicit one included
  int min_exponent;  ///< of the smallest normal value
  std::uint16_t infinity;
  std::uint16_t nan;
};

constexpr Format kBF16{8, -126, 0x7F80, 0x7FC0};
constexpr Format kF16{11, -14, 0x7C00, 0x7E00};
constexpr std::uint16_t kSign16 = 0x8000;

std::uint16_t round_to(const Format& format, double value) {
  if (std::isnan(value)) {
    return format.nan;
  }
  const std::uint16_t sign = std::signbit(value) ? kSign16 : std::uint16_t{0};
  const double magnitude = std::fabs(value);
  if (magnitude == 0.0) {
    return sign;
  }
  if (std::isinf(magnitude)) {
    return sign | format.infinity;
  }
  const int exponent = std::max(std::ilogb(magnitude), format.min_exponent);
  const int fraction_bits = format.precision - 1;
  // In units of the last place. Scaling by a power of two is exact, so this rounds once.
  const auto units =
      static_cast<std::int64_t>(std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent)));
  // A normal value's leading bit lies at fraction_bits and adds 1 to the exponent field, as does a
  // carry out of the rounding; a subnormal value has neither.
  const std::int64_t bits =
      (static_cast<std::int64_t>(exponent - format.min_exponent) << fraction_bits) + units;
  return sign |
         static_cast<std::uint16_t>(std::min<std::int64_t>(bits, std::int64_t{format.infinity}));
}

}  // namespace

float float_from_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

float bf16_to_float(std::uint16_t bits) {
  return float_from_bits(static_cast<std::uint32_t>(bits) << 16U);
}

float f16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & kSign16) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0x1F) {
    return float_from_bits(sign | 0x7F800000U | (fraction << 13U));
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return float_from_bits(sign | bits_of(magnitude));
  }
  return float_from_bits(sign | ((exponent + 112U) << 23U) | (fraction << 13U));
}

float e4m3_to_float(std::uint8_t code) {
  const int exponent = (code >> 3) & 0xF;
  const int fraction = code & 7;
  if ((code & 0x7F) == kNanCodeE4M3) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(fraction), -9)
                              : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

std::uint16_t to_bf16(double value) {
  return round_to(kBF16, value);
}

std::uint16_t to_f16(double value) {
  return round_to(kF16, value);
}

std::uint8_t to_e4m3(float value) {
  if (std::isnan(value)) {
    return kNanCodeE4M3;
  }
  const std::uint32_t bits = bits_of(value);
  const auto sign = static_cast<std::uint8_t>((bits >> 24U) & 0x80U);
  const std::uint32_t magnitude_bits = bits & 0x7FFFFFFFU;
  const float magnitude = float_from_bits(magnitude_bits);
  if (magnitude >= kMaxE4M3) {
    return sign | kMaxCodeE4M3;
  }
  if (magnitude < 0x1p-6F) {
    // Subnormal: a multiple of 2^-9. The last place of [2^14, 2^15) is 2^-9, so the addition rounds
    // to it, and leaves the multiple in the low bits.
    return sign | static_cast<std::uint8_t>(bits_of(magnitude + 0x1p14F) - bits_of(0x1p14F));
  }
  // Keep 3 of 23 fraction bits; a carry moves into the exponent as it should. Then change the bias
  // from 127 to 7.
  const std::uint32_t rounded = magnitude_bits + 0x7FFFFU + ((magnitude_bits >> 20U) & 1U);
  return sign | static_cast<std::uint8_t>((rounded >> 20U) - ((127U - 7U) << 3U));
}

float flush_subnormal(float value) {
  return std::fabs(value) < 0x1p-126F ? std::copysign(0.0F, value) : value;
}

}  // namespace quantjit::reference

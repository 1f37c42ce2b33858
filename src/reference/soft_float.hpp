// SPDX-License-Identifier: Apache-2.0
// Conversions between binary32 and the narrow formats, in software, so that no compiler option and
// no instruction set of the host decides a bit. All roundings are to nearest, ties to even.
#pragma once

#include <cstdint>

namespace quantjit::reference {

inline constexpr float kMaxE4M3 = 448.0F;
inline constexpr std::uint8_t kMaxCodeE4M3 = 0x7E;  ///< +448; 0xFE is -448
inline constexpr std::uint8_t kNanCodeE4M3 = 0x7F;

[[nodiscard]] float float_from_bits(std::uint32_t bits);
[[nodiscard]] std::uint32_t bits_of(float value);

/// Value of a bit pattern, exactly.
[[nodiscard]] float bf16_to_float(std::uint16_t bits);
[[nodiscard]] float f16_to_float(std::uint16_t bits);
[[nodiscard]] float e4m3_to_float(std::uint8_t code);

/// Nearest value of the format; beyond its range infinity. NaN gives the default quiet NaN.
[[nodiscard]] std::uint16_t to_bf16(double value);
[[nodiscard]] std::uint16_t to_f16(double value);

/// Nearest value of E4M3, beyond +-448 saturated. NaN gives 0x7F.
[[nodiscard]] std::uint8_t to_e4m3(float value);

/// Zero of the same sign for a subnormal value, else the value.
[[nodiscard]] float flush_subnormal(float value);

}  // namespace quantjit::reference

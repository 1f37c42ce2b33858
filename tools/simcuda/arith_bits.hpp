// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The arithmetic headers are compiled once per instruction set of the host. Each copy lives in a
// namespace of its own, so that the linker never hands AVX code to a host without it.
#ifndef QUANTJIT_SIM_ISA
#define QUANTJIT_SIM_ISA isa_base
#endif

#define QUANTJIT_SIM_INLINE [[gnu::always_inline]] inline

namespace quantjit::sim {

/// Rounding of a floating point result.
enum class Round : std::uint8_t { kNearest, kZero, kDown, kUp, kAway };

inline namespace QUANTJIT_SIM_ISA {

inline constexpr std::uint32_t kNan32 = 0x7FFFFFFF;
inline constexpr std::uint16_t kNan16 = 0x7FFF;

QUANTJIT_SIM_INLINE std::uint32_t bits_of(float x) {
  return __builtin_bit_cast(std::uint32_t, x);
}

QUANTJIT_SIM_INLINE std::uint64_t bits_of(double x) {
  return __builtin_bit_cast(std::uint64_t, x);
}

QUANTJIT_SIM_INLINE float float_of(std::uint32_t x) {
  return __builtin_bit_cast(float, x);
}

QUANTJIT_SIM_INLINE double double_of(std::uint64_t x) {
  return __builtin_bit_cast(double, x);
}

QUANTJIT_SIM_INLINE bool is_nan(float x) {
  return (bits_of(x) & 0x7FFFFFFF) > 0x7F800000;
}

QUANTJIT_SIM_INLINE bool is_nan(double x) {
  return (bits_of(x) & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000;
}

/// Subnormal numbers become zeros of the same sign.
QUANTJIT_SIM_INLINE float flush(float x) {
  const std::uint32_t u = bits_of(x);
  return float_of((u & 0x7F800000) != 0 ? u : u & 0x80000000);
}

template <bool Ftz>
QUANTJIT_SIM_INLINE float flush_if(float x) {
  if constexpr (Ftz) {
    return flush(x);
  } else {
    return x;
  }
}

/// Every NaN becomes the one that arithmetic instructions give.
QUANTJIT_SIM_INLINE float canonical(float x) {
  return is_nan(x) ? float_of(kNan32) : x;
}

/// A NaN without its signalling bit; other numbers as they are.
QUANTJIT_SIM_INLINE double quiet(double x) {
  return is_nan(x) ? double_of(bits_of(x) | 0x0008000000000000) : x;
}

/// .sat: into [+0, 1], NaN to +0.
QUANTJIT_SIM_INLINE float saturate(float x) {
  const float low = x > 0.0F ? x : 0.0F;
  return low < 1.0F ? low : 1.0F;
}

/// a + b rounded to odd: any later rounding to at least two bits less is then correct.
QUANTJIT_SIM_INLINE double add_odd(double a, double b) {
  const double s = a + b;
  const double bb = s - a;
  const double err = (a - (s - bb)) + (b - bb);
  const std::uint64_t u = bits_of(s);
  const bool away = (err > 0.0) == (s > 0.0);
  const bool adjust = (err > 0.0 || err < 0.0) && (u & 1) == 0;
  return double_of(adjust ? (away ? u + 1 : u - 1) : u);
}

/// A double to float, rounded to odd (NaN stays NaN).
QUANTJIT_SIM_INLINE float to_float_odd(double x) {
  const float f = static_cast<float>(x);
  const double back = static_cast<double>(f);
  const std::uint32_t u = bits_of(f);
  const double magnitude = x < 0.0 ? -x : x;
  const double rounded = back < 0.0 ? -back : back;
  const bool adjust = (rounded > magnitude || rounded < magnitude) && (u & 1) == 0;
  return float_of(adjust ? (rounded > magnitude ? u - 1 : u + 1) : u);
}

/// A double to float in any rounding mode.
template <Round R>
QUANTJIT_SIM_INLINE float to_float(double x) {
  const float f = static_cast<float>(x);
  if constexpr (R == Round::kNearest) {
    return f;
  } else {
    const double back = static_cast<double>(f);
    const std::uint32_t u = bits_of(f);
    const bool negative = (u >> 31) != 0;
    const bool too_high = back > x;
    const bool too_low = back < x;
    bool down = false;  // towards zero in magnitude
    bool up = false;
    if constexpr (R == Round::kZero) {
      down = negative ? too_low : too_high;
    } else if constexpr (R == Round::kDown) {
      down = !negative && too_high;
      up = negative && too_high;
    } else {
      down = negative && too_low;
      up = !negative && too_low;
    }
    return float_of(down ? u - 1 : (up ? u + 1 : u));
  }
}

}  // namespace QUANTJIT_SIM_ISA
}  // namespace quantjit::sim

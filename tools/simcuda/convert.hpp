// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arith_16.hpp"
#include "arith_bits.hpp"

#include <limits>
#include <type_traits>

// Conversions between number formats.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {

/// x rounded to an integral value; infinities and NaN unchanged, the sign of zero kept.
template <Round R>
QUANTJIT_SIM_INLINE float integral(float x) {
  const std::uint32_t sign = bits_of(x) & 0x80000000;
  const float magnitude = float_of(bits_of(x) & 0x7FFFFFFF);
  const bool whole = !(magnitude < 8388608.0F);
  const float safe = whole ? 0.0F : magnitude;
  const float low = static_cast<float>(static_cast<std::int32_t>(safe));
  const float rest = safe - low;
  float r = low;
  if constexpr (R == Round::kNearest) {
    const bool odd = (static_cast<std::int32_t>(safe) & 1) != 0;
    r = rest > 0.5F || (rest == 0.5F && odd) ? low + 1.0F : low;
  } else if constexpr (R == Round::kDown) {
    r = sign != 0 && rest > 0.0F ? low + 1.0F : low;
  } else if constexpr (R == Round::kUp) {
    r = sign == 0 && rest > 0.0F ? low + 1.0F : low;
  }
  return whole ? x : float_of(bits_of(r) | sign);
}

template <Round R>
QUANTJIT_SIM_INLINE double integral(double x) {
  const std::uint64_t sign = bits_of(x) & 0x8000000000000000;
  const double magnitude = double_of(bits_of(x) & 0x7FFFFFFFFFFFFFFF);
  if (!(magnitude < 4503599627370496.0)) {
    return x;
  }
  const std::int64_t whole = static_cast<std::int64_t>(magnitude);
  const double low = static_cast<double>(whole);
  const double rest = magnitude - low;
  double r = low;
  if constexpr (R == Round::kNearest) {
    r = rest > 0.5 || (rest == 0.5 && (whole & 1) != 0) ? low + 1.0 : low;
  } else if constexpr (R == Round::kDown) {
    r = sign != 0 && rest > 0.0 ? low + 1.0 : low;
  } else if constexpr (R == Round::kUp) {
    r = sign == 0 && rest > 0.0 ? low + 1.0 : low;
  }
  return double_of(bits_of(r) | sign);
}

/// An integral value into an integer type, clamped to its range. NaN gives 0; the top bit alone for
/// 64-bit integers and from f64.
template <class I, class F>
QUANTJIT_SIM_INLINE I clamp_to_int(F x) {
  using Limits = std::numeric_limits<I>;
  constexpr int kBits = Limits::digits;
  constexpr F kBeyond = static_cast<F>(std::uint64_t{1} << (kBits - 1)) * F{2};
  constexpr F kLowest = std::is_signed_v<I> ? -kBeyond : F{0};
  const bool above = x >= kBeyond;
  const bool below = x < kLowest;
  const bool nan = is_nan(x);
  const F safe = above || below || nan ? F{0} : x;
  constexpr bool kTopBit = sizeof(I) == 8 || sizeof(F) == 8;
  constexpr I kNan = kTopBit ? static_cast<I>(std::uint64_t{1} << (8 * sizeof(I) - 1)) : I{0};
  I r{};
  if constexpr (sizeof(I) < 4) {
    r = static_cast<I>(static_cast<std::int32_t>(safe));
  } else {
    r = static_cast<I>(safe);
  }
  r = above ? Limits::max() : r;
  r = below ? Limits::min() : r;
  return nan ? kNan : r;
}

template <class I, Round R, bool Ftz>
QUANTJIT_SIM_INLINE I int_from_f32(float x) {
  return clamp_to_int<I>(integral<R>(flush_if<Ftz>(x)));
}

template <class I, Round R>
QUANTJIT_SIM_INLINE I int_from_f64(double x) {
  return clamp_to_int<I>(integral<R>(x));
}

template <class I, class T, Round R>
QUANTJIT_SIM_INLINE I int_from_16(std::uint16_t x) {
  return clamp_to_int<I>(integral<R>(widen<T>(x)));
}

/// Rounded to odd for 64-bit integers, exact for the others.
template <class I>
QUANTJIT_SIM_INLINE double double_odd_from_int(I x) {
  if constexpr (sizeof(I) == 8) {
    const auto high =
        static_cast<std::conditional_t<std::is_signed_v<I>, std::int32_t, std::uint32_t>>(x >> 32);
    const auto low = static_cast<std::uint32_t>(x & 0xFFFFFFFF);
    return add_odd(static_cast<double>(high) * 4294967296.0, static_cast<double>(low));
  } else {
    return static_cast<double>(x);
  }
}

template <class I, Round R>
QUANTJIT_SIM_INLINE float f32_from_int(I x) {
  if constexpr (R == Round::kNearest) {
    return static_cast<float>(x);
  } else {
    return to_float<R>(double_odd_from_int(x));
  }
}

template <class T, class I, Round R>
QUANTJIT_SIM_INLINE std::uint16_t f16_from_int(I x) {
  return narrow<T, R>(to_float_odd(double_odd_from_int(x)));
}

/// f32 to a 16-bit format.
template <class T, Round R, bool Relu, bool SatFinite>
QUANTJIT_SIM_INLINE std::uint16_t f16_from_f32(float x) {
  std::uint16_t r = narrow<T, R>(x);
  if constexpr (SatFinite) {
    const auto clamped = static_cast<std::uint16_t>((r & 0x8000) | T::kMax);
    r = (r & 0x7FFF) == T::kInfinity ? clamped : r;
  }
  if constexpr (Relu) {
    r = relu16<T>(r);
  }
  return r;
}

/// The low half comes from b, the high half from a.
template <class T, Round R, bool Relu, bool SatFinite>
QUANTJIT_SIM_INLINE std::uint32_t f16x2_from_f32(float a, float b) {
  return std::uint32_t{f16_from_f32<T, R, Relu, SatFinite>(b)} |
         (std::uint32_t{f16_from_f32<T, R, Relu, SatFinite>(a)} << 16);
}

/// Saturating float to an 8-bit format with E exponent and 7 - E mantissa bits.
template <int E, bool Relu>
QUANTJIT_SIM_INLINE std::uint32_t f8_from_f32(float x) {
  constexpr int kMantissa = 7 - E;
  constexpr std::uint32_t kBias = (1U << (E - 1)) - 1;
  constexpr std::uint32_t kLargest = E == 4 ? 0x7E : 0x7B;
  constexpr std::uint32_t kDrop = 23 - kMantissa;
  constexpr std::uint32_t kFirstNormal = (128 - kBias) << 23;
  // Adding 2^23 ulps of the smallest subnormal lets the host round to that grid.
  constexpr float kGrid = E == 4 ? 16384.0F : 128.0F;
  const std::uint32_t sign = (bits_of(x) >> 24) & 0x80;
  const std::uint32_t u = bits_of(x) & 0x7FFFFFFF;
  const std::uint32_t even = (u >> kDrop) & 1;
  const std::uint32_t normal =
      ((u + (1U << (kDrop - 1)) - 1 + even) >> kDrop) - ((127 - kBias) << kMantissa);
  const std::uint32_t tiny = bits_of(float_of(u) + kGrid) - bits_of(kGrid);
  std::uint32_t r = u < kFirstNormal ? tiny : normal;
  r = u > 0x43FFFFFF && E == 4 ? kLargest : r;
  r = u > 0x47FFFFFF && E == 5 ? kLargest : r;
  r = r > kLargest ? kLargest : r;
  const bool nan = u > 0x7F800000;
  const std::uint32_t with_sign = Relu && sign != 0 ? 0 : (r | sign);
  return nan ? 0x7F : with_sign;
}

template <int E, bool Relu>
QUANTJIT_SIM_INLINE std::uint16_t f8x2_from_f32(float a, float b) {
  return static_cast<std::uint16_t>(f8_from_f32<E, Relu>(b) | (f8_from_f32<E, Relu>(a) << 8));
}

template <int E, class T, bool Relu>
QUANTJIT_SIM_INLINE std::uint16_t f8x2_from_16x2(std::uint32_t a) {
  const float low = widen<T>(static_cast<std::uint16_t>(a));
  const float high = widen<T>(static_cast<std::uint16_t>(a >> 16));
  return static_cast<std::uint16_t>(f8_from_f32<E, Relu>(low) | (f8_from_f32<E, Relu>(high) << 8));
}

/// Exact.
template <int E>
QUANTJIT_SIM_INLINE std::uint16_t f16_from_f8(std::uint32_t x) {
  if constexpr (E == 5) {
    const auto r = static_cast<std::uint16_t>((x & 0xFF) << 8);
    return is_nan16<Half>(r) ? kNan16 : r;
  } else {
    const std::uint32_t sign = (x & 0x80) << 8;
    const std::uint32_t magnitude = x & 0x7F;
    // E4M3 and f16 differ by 8 in bias; below 8 the mantissa counts in units of 2^-9.
    const std::uint16_t tiny =
        narrow_half<Round::kNearest>(static_cast<float>(static_cast<int>(magnitude)) * 0x1p-9F);
    const std::uint32_t normal = (magnitude << 7) + (8U << 10);
    const std::uint32_t r = magnitude < 8 ? tiny : normal;
    return magnitude == 0x7F ? kNan16 : static_cast<std::uint16_t>(r | sign);
  }
}

template <int E, bool Relu>
QUANTJIT_SIM_INLINE std::uint32_t f16x2_from_f8x2(std::uint16_t a) {
  std::uint16_t low = f16_from_f8<E>(a);
  std::uint16_t high = f16_from_f8<E>(static_cast<std::uint32_t>(a) >> 8);
  if constexpr (Relu) {
    low = relu16<Half>(low);
    high = relu16<Half>(high);
  }
  return std::uint32_t{low} | (std::uint32_t{high} << 16);
}

/// The exponent byte of |x|, rounded up or towards zero; NaN gives 0xFF.
template <Round R, bool SatFinite>
QUANTJIT_SIM_INLINE std::uint32_t ue8m0_from_f32(float x) {
  const std::uint32_t u = bits_of(x) & 0x7FFFFFFF;
  std::uint32_t r = u >> 23;
  if constexpr (R == Round::kUp) {
    const bool up = (u & 0x7FFFFF) != 0 && u > 0x00400000 && u < 0x7F800000;
    r += up ? 1U : 0U;
  }
  if constexpr (SatFinite) {
    r = r == 0xFF && u <= 0x7F800000 ? 0xFE : r;
  }
  return r;
}

template <Round R, bool SatFinite>
QUANTJIT_SIM_INLINE std::uint16_t ue8m0x2_from_f32(float a, float b) {
  return static_cast<std::uint16_t>(ue8m0_from_f32<R, SatFinite>(b) |
                                    (ue8m0_from_f32<R, SatFinite>(a) << 8));
}

template <Round R, bool SatFinite>
QUANTJIT_SIM_INLINE std::uint16_t ue8m0x2_from_bf16x2(std::uint32_t a) {
  return static_cast<std::uint16_t>(ue8m0_from_f32<R, SatFinite>(float_of(a << 16)) |
                                    (ue8m0_from_f32<R, SatFinite>(float_of(a & 0xFFFF0000)) << 8));
}

QUANTJIT_SIM_INLINE std::uint32_t bf16_from_ue8m0(std::uint32_t x) {
  x &= 0xFF;
  return x == 0xFF ? 0x7FFFU : (x == 0 ? 0x0040U : x << 7);
}

QUANTJIT_SIM_INLINE std::uint32_t bf16x2_from_ue8m0x2(std::uint16_t a) {
  return bf16_from_ue8m0(a) | (bf16_from_ue8m0(std::uint32_t{a} >> 8) << 16);
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA

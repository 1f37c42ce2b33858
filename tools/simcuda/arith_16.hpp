// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arith_bits.hpp"

// f16 and bf16 arithmetic on bit patterns. Everything is computed exactly enough in double (rounded
// to odd where the exact result does not fit) and rounded once.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {

struct Half {
  static constexpr std::uint16_t kInfinity = 0x7C00;
  static constexpr std::uint16_t kMax = 0x7BFF;
  static constexpr std::uint16_t kOne = 0x3C00;
};

struct Bfloat {
  static constexpr std::uint16_t kInfinity = 0x7F80;
  static constexpr std::uint16_t kMax = 0x7F7F;
  static constexpr std::uint16_t kOne = 0x3F80;
};

template <class T>
QUANTJIT_SIM_INLINE bool is_nan16(std::uint16_t x) {
  return (x & 0x7FFF) > T::kInfinity;
}

/// Exact. Signalling payloads stay as they are in the upper bits.
template <class T>
QUANTJIT_SIM_INLINE float widen(std::uint16_t x);

template <>
QUANTJIT_SIM_INLINE float widen<Bfloat>(std::uint16_t x) {
  return float_of(std::uint32_t{x} << 16);
}

template <>
QUANTJIT_SIM_INLINE float widen<Half>(std::uint16_t x) {
  const std::uint32_t sign = (std::uint32_t{x} & 0x8000) << 16;
  const std::uint32_t magnitude = std::uint32_t{x} & 0x7FFF;
  const std::uint32_t normal = (magnitude << 13) + (112U << 23);
  const std::uint32_t special = (magnitude << 13) | 0x7F800000;
  const std::uint32_t tiny =
      bits_of(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F);
  const std::uint32_t r = magnitude >= 0x7C00 ? special : (magnitude < 0x400 ? tiny : normal);
  return float_of(r | sign);
}

/// Rounds a float; NaN becomes 0x7FFF.
template <class T, Round R>
QUANTJIT_SIM_INLINE std::uint16_t narrow(float x);

template <Round R>
QUANTJIT_SIM_INLINE std::uint16_t narrow_bfloat(float x) {
  const std::uint32_t u = bits_of(x);
  std::uint32_t r = u;
  if constexpr (R == Round::kNearest) {
    r = u + 0x7FFF + ((u >> 16) & 1);
  } else if constexpr (R == Round::kAway) {
    r = u + 0x8000;
  } else if constexpr (R == Round::kDown) {
    r = (u >> 31) != 0 ? u + 0xFFFF : u;
  } else if constexpr (R == Round::kUp) {
    r = (u >> 31) != 0 ? u : u + 0xFFFF;
  }
  const bool special = (u & 0x7F800000) == 0x7F800000;
  const std::uint32_t shown = special ? u : r;
  return is_nan(x) ? kNan16 : static_cast<std::uint16_t>(shown >> 16);
}

template <Round R>
QUANTJIT_SIM_INLINE std::uint16_t narrow_half(float x) {
  const std::uint32_t u = bits_of(x);
  const std::uint32_t sign = (u >> 16) & 0x8000;
  const std::uint32_t magnitude = u & 0x7FFFFFFF;
  // Below 2^-14 the last kept bit stands at 2^-24; above, 13 bits are dropped.
  const std::uint32_t exponent = magnitude >> 23;
  const bool tiny = exponent < 113;
  const std::uint32_t distance = tiny ? 126 - (exponent < 102 ? 101 : exponent) : 13;
  const std::uint32_t shift = distance > 25 ? 25 : distance;
  const std::uint32_t significand = (magnitude & 0x7FFFFF) | (exponent != 0 ? 0x800000U : 0U);
  const std::uint32_t source = tiny ? significand : magnitude - (112U << 23);
  const std::uint32_t kept = source >> shift;
  const std::uint32_t rest = source & ((1U << shift) - 1);
  const std::uint32_t half = 1U << (shift - 1);
  bool up = false;
  if constexpr (R == Round::kNearest) {
    up = rest > half || (rest == half && (kept & 1) != 0);
  } else if constexpr (R == Round::kAway) {
    up = rest >= half;
  } else if constexpr (R == Round::kDown) {
    up = sign != 0 && rest != 0;
  } else if constexpr (R == Round::kUp) {
    up = sign == 0 && rest != 0;
  }
  std::uint32_t r = kept + (up ? 1U : 0U);
  const bool truncating =
      R == Round::kZero || (R == Round::kDown && sign == 0) || (R == Round::kUp && sign != 0);
  const std::uint32_t overflow = truncating ? 0x7BFFU : 0x7C00U;
  r = (!tiny && r > 0x7BFF) || magnitude >= 0x47800000 ? overflow : r;
  r = magnitude == 0x7F800000 ? 0x7C00U : r;
  return magnitude > 0x7F800000 ? kNan16 : static_cast<std::uint16_t>(r | sign);
}

template <class T, Round R>
QUANTJIT_SIM_INLINE std::uint16_t narrow(float x) {
  if constexpr (T::kInfinity == Half::kInfinity) {
    return narrow_half<R>(x);
  } else {
    return narrow_bfloat<R>(x);
  }
}

/// Rounds a double that is exact or rounded to odd.
template <class T>
QUANTJIT_SIM_INLINE std::uint16_t narrow_double(double x) {
  return narrow<T, Round::kNearest>(to_float_odd(x));
}

template <class T>
QUANTJIT_SIM_INLINE std::uint16_t flush16(std::uint16_t x) {
  return (x & T::kInfinity) != 0 ? x : static_cast<std::uint16_t>(x & 0x8000);
}

/// .sat of a number that is already rounded.
template <class T>
QUANTJIT_SIM_INLINE std::uint16_t saturate16(std::uint16_t r) {
  const bool zero = (r & 0x8000) != 0 || is_nan16<T>(r);
  return zero ? std::uint16_t{0} : (r > T::kOne ? T::kOne : r);
}

/// Rounds a result that is exact or rounded to odd. .ftz looks at the result as it would be with an
/// unlimited exponent range: of f16, everything below 2^-14 - 2^-26 is a zero.
template <class T, bool Ftz, bool Sat>
QUANTJIT_SIM_INLINE std::uint16_t finish16(double exact) {
  std::uint16_t r = narrow_double<T>(exact);
  if constexpr (Ftz) {
    const double magnitude = double_of(bits_of(exact) & 0x7FFFFFFFFFFFFFFF);
    const bool tiny = magnitude < 0x1p-14 - 0x1p-26;
    r = tiny ? static_cast<std::uint16_t>(r & 0x8000) : r;
  }
  if constexpr (Sat) {
    return saturate16<T>(r);
  } else {
    return r;
  }
}

/// .relu: negative results become +0, NaN stays.
template <class T>
QUANTJIT_SIM_INLINE std::uint16_t relu16(std::uint16_t r) {
  return (r & 0x8000) != 0 && !is_nan16<T>(r) ? std::uint16_t{0} : r;
}

template <class T, bool Ftz>
QUANTJIT_SIM_INLINE double operand16(std::uint16_t x) {
  if constexpr (Ftz) {
    x = flush16<T>(x);
  }
  return static_cast<double>(widen<T>(x));
}

template <class T, bool Ftz, bool Sat>
QUANTJIT_SIM_INLINE std::uint16_t add16(std::uint16_t a, std::uint16_t b) {
  const double x = operand16<T, Ftz>(a);
  const double y = operand16<T, Ftz>(b);
  // bf16 spans 2^-133 to 2^128: the sum may need rounding to odd.
  const double plain = x + y;
  const double sum = plain - plain == 0.0 ? add_odd(x, y) : plain;
  return finish16<T, Ftz, Sat>(sum);
}

template <class T, bool Ftz, bool Sat>
QUANTJIT_SIM_INLINE std::uint16_t sub16(std::uint16_t a, std::uint16_t b) {
  return add16<T, Ftz, Sat>(a, static_cast<std::uint16_t>(b ^ 0x8000));
}

template <class T, bool Ftz, bool Sat>
QUANTJIT_SIM_INLINE std::uint16_t mul16(std::uint16_t a, std::uint16_t b) {
  const double product = operand16<T, Ftz>(a) * operand16<T, Ftz>(b);
  return finish16<T, Ftz, Sat>(product);
}

template <class T, bool Ftz, bool Sat>
QUANTJIT_SIM_INLINE std::uint16_t fma16(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
  const double product = operand16<T, Ftz>(a) * operand16<T, Ftz>(b);
  const double addend = operand16<T, Ftz>(c);
  const double plain = product + addend;
  const double sum = plain - plain == 0.0 ? add_odd(product, addend) : plain;
  return finish16<T, Ftz, Sat>(sum);
}

/// A total order on bit patterns that agrees with < on numbers, -0 below +0.
QUANTJIT_SIM_INLINE std::int32_t order16(std::uint16_t x) {
  const std::int32_t v = static_cast<std::int16_t>(x);
  return v < 0 ? (v ^ 0x7FFF) : v;
}

template <class T, bool Ftz, bool PropagateNan, bool Max>
QUANTJIT_SIM_INLINE std::uint16_t extremum16(std::uint16_t a, std::uint16_t b) {
  if constexpr (Ftz) {
    a = flush16<T>(a);
    b = flush16<T>(b);
  }
  const bool first = Max ? order16(a) >= order16(b) : order16(a) <= order16(b);
  const std::uint16_t ordered = first ? a : b;
  const bool a_nan = is_nan16<T>(a);
  const bool b_nan = is_nan16<T>(b);
  const std::uint16_t other = PropagateNan || (a_nan && b_nan) ? kNan16 : (a_nan ? b : a);
  return a_nan || b_nan ? other : ordered;
}

template <class T, bool Ftz, bool PropagateNan, bool Max>
QUANTJIT_SIM_INLINE std::uint16_t xorsign16(std::uint16_t a, std::uint16_t b) {
  const std::uint16_t r = extremum16<T, Ftz, PropagateNan, Max>(
      static_cast<std::uint16_t>(a & 0x7FFF), static_cast<std::uint16_t>(b & 0x7FFF));
  const std::uint16_t sign = static_cast<std::uint16_t>((a ^ b) & 0x8000);
  return is_nan16<T>(r) ? r : static_cast<std::uint16_t>(r | sign);
}

template <class T, bool Ftz>
QUANTJIT_SIM_INLINE std::uint16_t abs16(std::uint16_t a) {
  if constexpr (Ftz) {
    a = flush16<T>(a);
  }
  return is_nan16<T>(a) ? kNan16 : static_cast<std::uint16_t>(a & 0x7FFF);
}

template <class T, bool Ftz>
QUANTJIT_SIM_INLINE std::uint16_t neg16(std::uint16_t a) {
  if constexpr (Ftz) {
    a = flush16<T>(a);
  }
  return is_nan16<T>(a) ? kNan16 : static_cast<std::uint16_t>(a ^ 0x8000);
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arith_bits.hpp"

#include <cmath>

// f32 arithmetic with the rounding, flushing, saturation and NaN rules of PTX. Built without
// contraction and run in the default floating point environment.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {

// .ftz decides on the result as it would be with an unlimited exponent range: what rounds up to
// 2^-126 only because subnormal numbers are coarser is a zero. Scaled by 2^64, nothing is
// subnormal.
inline constexpr float kFlushScale = 0x1p64F;
inline constexpr float kFlushBelow = 0x1p-62F;

/// r, or a zero of its sign when the same result scaled by kFlushScale is small.
QUANTJIT_SIM_INLINE float flush_scaled(float r, float scaled) {
  const bool tiny = float_of(bits_of(scaled) & 0x7FFFFFFF) < kFlushBelow;
  return tiny ? float_of(bits_of(r) & 0x80000000) : r;
}

/// Rounds a double that is exact, or rounded to odd, to float.
template <Round R, bool Ftz>
QUANTJIT_SIM_INLINE float round_f32(double exact) {
  const float r = to_float<R>(exact);
  if constexpr (Ftz) {
    return flush_scaled(r, to_float<R>(exact * static_cast<double>(kFlushScale)));
  } else {
    return r;
  }
}

/// Saturation, or the one NaN.
template <Round R, bool Ftz, bool Sat>
QUANTJIT_SIM_INLINE float finish_f32(float r) {
  if constexpr (Sat) {
    return saturate(r);
  } else {
    return canonical(r);
  }
}

/// a + b where a may be a product that is exact in double.
template <Round R, bool Ftz>
QUANTJIT_SIM_INLINE float add_directed(double a, double b) {
  const double plain = a + b;
  if (!(plain - plain == 0.0)) {
    return static_cast<float>(plain);  // infinity or NaN
  }
  if (plain == 0.0) {
    const bool same_sign = ((bits_of(a) ^ bits_of(b)) >> 63) == 0;
    return same_sign ? static_cast<float>(plain) : (R == Round::kDown ? -0.0F : 0.0F);
  }
  return round_f32<R, Ftz>(add_odd(a, b));
}

template <Round R, bool Ftz, bool Sat>
QUANTJIT_SIM_INLINE float add_f32(float a, float b) {
  a = flush_if<Ftz>(a);
  b = flush_if<Ftz>(b);
  if constexpr (R == Round::kNearest) {
    return finish_f32<R, Ftz, Sat>(flush_if<Ftz>(a + b));  // tiny sums are exact
  } else {
    return finish_f32<R, Ftz, Sat>(add_directed<R, Ftz>(a, b));
  }
}

template <Round R, bool Ftz, bool Sat>
QUANTJIT_SIM_INLINE float sub_f32(float a, float b) {
  return add_f32<R, Ftz, Sat>(a, float_of(bits_of(b) ^ 0x80000000));
}

template <Round R, bool Ftz, bool Sat>
QUANTJIT_SIM_INLINE float mul_f32(float a, float b) {
  a = flush_if<Ftz>(a);
  b = flush_if<Ftz>(b);
  if constexpr (R == Round::kNearest) {
    const float r = a * b;
    return finish_f32<R, Ftz, Sat>(Ftz ? flush_scaled(r, a * kFlushScale * b) : r);
  } else {
    return finish_f32<R, Ftz, Sat>(round_f32<R, Ftz>(static_cast<double>(a) * b));
  }
}

template <Round R, bool Ftz, bool Sat>
QUANTJIT_SIM_INLINE float fma_f32(float a, float b, float c) {
  a = flush_if<Ftz>(a);
  b = flush_if<Ftz>(b);
  c = flush_if<Ftz>(c);
  if constexpr (R == Round::kNearest) {
#ifdef __FMA__
    const float r = __builtin_fmaf(a, b, c);
    const float scaled = __builtin_fmaf(a * kFlushScale, b, c * kFlushScale);
    return finish_f32<R, Ftz, Sat>(Ftz ? flush_scaled(r, scaled) : r);
#else
    const double product = static_cast<double>(a) * b;
    const double plain = product + c;
    const bool finite = plain - plain == 0.0;
    const double sum = finite ? add_odd(product, c) : plain;
    return finish_f32<R, Ftz, Sat>(round_f32<R, Ftz>(sum));
#endif
  } else {
    return finish_f32<R, Ftz, Sat>(add_directed<R, Ftz>(static_cast<double>(a) * b, c));
  }
}

template <bool Ftz, bool PropagateNan>
QUANTJIT_SIM_INLINE float min_f32(float a, float b) {
  a = flush_if<Ftz>(a);
  b = flush_if<Ftz>(b);
  const float ordered = a == b ? float_of(bits_of(a) | bits_of(b)) : (a < b ? a : b);
  const bool any = is_nan(a) || is_nan(b);
  const float other = PropagateNan ? float_of(kNan32) : (is_nan(a) ? canonical(b) : a);
  return any ? other : ordered;
}

template <bool Ftz, bool PropagateNan>
QUANTJIT_SIM_INLINE float max_f32(float a, float b) {
  a = flush_if<Ftz>(a);
  b = flush_if<Ftz>(b);
  const float ordered = a == b ? float_of(bits_of(a) & bits_of(b)) : (a > b ? a : b);
  const bool any = is_nan(a) || is_nan(b);
  const float other = PropagateNan ? float_of(kNan32) : (is_nan(a) ? canonical(b) : a);
  return any ? other : ordered;
}

/// min/max.xorsign.abs: of the magnitudes, signed with the xor of both signs.
template <bool Ftz, bool PropagateNan, bool Max>
QUANTJIT_SIM_INLINE float xorsign_f32(float a, float b) {
  const std::uint32_t sign = (bits_of(a) ^ bits_of(b)) & 0x80000000;
  const float x = float_of(bits_of(a) & 0x7FFFFFFF);
  const float y = float_of(bits_of(b) & 0x7FFFFFFF);
  const float r = Max ? max_f32<Ftz, PropagateNan>(x, y) : min_f32<Ftz, PropagateNan>(x, y);
  return is_nan(r) ? r : float_of(bits_of(r) | sign);
}

template <bool Ftz>
QUANTJIT_SIM_INLINE float abs_f32(float a) {
  return canonical(float_of(bits_of(flush_if<Ftz>(a)) & 0x7FFFFFFF));
}

template <bool Ftz>
QUANTJIT_SIM_INLINE float neg_f32(float a) {
  return canonical(float_of(bits_of(flush_if<Ftz>(a)) ^ 0x80000000));
}

QUANTJIT_SIM_INLINE float copysign_f32(float sign, float magnitude) {
  return float_of((bits_of(magnitude) & 0x7FFFFFFF) | (bits_of(sign) & 0x80000000));
}

template <Round R, bool Ftz>
QUANTJIT_SIM_INLINE float div_rounded_f32(float a, float b) {
  a = flush_if<Ftz>(a);
  b = flush_if<Ftz>(b);
  if constexpr (R == Round::kNearest) {
    return finish_f32<R, Ftz, false>(flush_if<Ftz>(a / b));
  } else {
    // The double quotient of two floats is never so near a float that its last bit could mislead.
    return finish_f32<R, Ftz, false>(round_f32<R, Ftz>(static_cast<double>(a) / b));
  }
}

template <Round R, bool Ftz>
QUANTJIT_SIM_INLINE float rcp_rounded_f32(float a) {
  return div_rounded_f32<R, Ftz>(1.0F, a);
}

template <Round R, bool Ftz>
QUANTJIT_SIM_INLINE float sqrt_rounded_f32(float a) {
  a = flush_if<Ftz>(a);
  if constexpr (R == Round::kNearest) {
    return finish_f32<R, Ftz, false>(flush_if<Ftz>(__builtin_sqrtf(a)));
  } else {
    return finish_f32<R, Ftz, false>(to_float<R>(__builtin_sqrt(static_cast<double>(a))));
  }
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "arith_bits.hpp"

// f32 arithmetic with the rounding, flushing, saturation and NaN rules of PTX. Built without
// contraction and run in the default floating point environment.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {

template <Round R, bool Ftz, bool Sat>
QUANTJIT_SIM_INLINE float finish_f32(float r) {
  r = flush_if<Ftz>(r);
  if constexpr (Sat) {
    return saturate(r);
  } else {
    return canonical(r);
  }
}

/// a + b where b may be a product that is exact in double.
template <Round R>
QUANTJIT_SIM_INLINE float add_directed(double a, double b) {
  const double plain = a + b;
  if (!(plain - plain == 0.0)) {
    return static_cast<float>(plain);  // infinity or NaN
  }
  if (plain == 0.0) {
    const bool same_sign = ((bits_of(a) ^ bits_of(b)) >> 63) == 0;
    return same_sign ? static_cast<float>(plain) : (R == Round::kDown ? -0.0F : 0.0F);
  }
  return to_float<R>(add_odd(a, b));
}

template <Round R, bool Ftz, bool Sat>
QUANTJIT_SIM_INLINE float add_f32(float a, float b) {
  a = flush_if<Ftz>(a);
  b = flush_if<Ftz>(b);
  if constexpr (R == Round::kNearest) {
    return finish_f32<R, Ftz, Sat>(a + b);
  } else {
    return finish_f32<R, Ftz, Sat>(add_directed<R>(a, b));
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
    return finish_f32<R, Ftz, Sat>(a * b);
  } else {
    return finish_f32<R, Ftz, Sat>(to_float<R>(static_cast<double>(a) * b));
  }
}

template <Round R, bool Ftz, bool Sat>
QUANTJIT_SIM_INLINE float fma_f32(float a, float b, float c) {
  a = flush_if<Ftz>(a);
  b = flush_if<Ftz>(b);
  c = flush_if<Ftz>(c);
  if constexpr (R == Round::kNearest) {
#ifdef __FMA__
    return finish_f32<R, Ftz, Sat>(__builtin_fmaf(a, b, c));
#else
    const double product = static_cast<double>(a) * b;
    const double plain = product + c;
    const bool finite = plain - plain == 0.0;
    const double sum = finite ? add_odd(product, c) : plain;
    return finish_f32<R, Ftz, Sat>(static_cast<float>(sum));
#endif
  } else {
    return finish_f32<R, Ftz, Sat>(add_directed<R>(static_cast<double>(a) * b, c));
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
  return float_of(bits_of(flush_if<Ftz>(a)) & 0x7FFFFFFF);
}

template <bool Ftz>
QUANTJIT_SIM_INLINE float neg_f32(float a) {
  return float_of(bits_of(flush_if<Ftz>(a)) ^ 0x80000000);
}

QUANTJIT_SIM_INLINE float copysign_f32(float sign, float magnitude) {
  return float_of((bits_of(magnitude) & 0x7FFFFFFF) | (bits_of(sign) & 0x80000000));
}

template <Round R, bool Ftz>
QUANTJIT_SIM_INLINE float div_rounded_f32(float a, float b) {
  a = flush_if<Ftz>(a);
  b = flush_if<Ftz>(b);
  if constexpr (R == Round::kNearest) {
    return finish_f32<R, Ftz, false>(a / b);
  } else {
    // The double quotient of two floats is never so near a float that its last bit could mislead.
    return finish_f32<R, Ftz, false>(to_float<R>(static_cast<double>(a) / b));
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
    return finish_f32<R, Ftz, false>(__builtin_sqrtf(a));
  } else {
    return finish_f32<R, Ftz, false>(to_float<R>(__builtin_sqrt(static_cast<double>(a))));
  }
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA

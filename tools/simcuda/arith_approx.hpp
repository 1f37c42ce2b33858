// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arith_f32.hpp"

#include <cmath>
#include <cstdint>

/// Difference of the H200's rcp.approx.ftz.f32 to the correctly rounded reciprocal for every 23-bit
/// mantissa: 2 bits each, four a byte, lowest first; 0 = equal, 1 = one ulp above, 2 = one below.
extern "C" const std::uint8_t quantjit_sim_rcp_delta[1U << 21];

// Approximate instructions. rcp.approx and what is built on it have the bits of an H200 (sm_90);
// other GPUs are assumed to agree and have not been measured. ex2, lg2, rsqrt, sqrt, sin, cos and
// tanh .approx are correctly rounded here, which no GPU promises: expect a last-place difference.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {

QUANTJIT_SIM_INLINE std::uint32_t rcp_delta(std::uint32_t mantissa) {
  const std::uint32_t code = (quantjit_sim_rcp_delta[mantissa >> 2] >> (2 * (mantissa & 3))) & 3;
  return code == 2 ? 0xFFFFFFFF : code;
}

/// rcp.approx.ftz.f32: subnormal arguments and results are zeros.
QUANTJIT_SIM_INLINE float rcp_approx_ftz(float x) {
  const std::uint32_t u = bits_of(x);
  const std::uint32_t sign = u & 0x80000000;
  const std::uint32_t exponent = (u >> 23) & 0xFF;
  const std::uint32_t mantissa = u & 0x7FFFFF;
  const std::uint32_t unit = bits_of(1.0F / float_of(mantissa | 0x3F800000)) + rcp_delta(mantissa);
  const std::uint32_t scaled = unit - ((exponent - 127) << 23);
  const bool underflow = exponent == 254 || (exponent == 253 && mantissa != 0);
  std::uint32_t r = underflow ? 0 : scaled;
  r = exponent == 0 ? 0x7F800000 : r;
  r = exponent == 255 ? 0 : r;
  const bool nan = exponent == 255 && mantissa != 0;
  return float_of(nan ? kNan32 : (r | sign));
}

/// rcp.approx.f32: the same for normal results; subnormal arguments and results are scaled.
QUANTJIT_SIM_INLINE float rcp_approx(float x) {
  const std::uint32_t exponent = (bits_of(x) >> 23) & 0xFF;
  if (exponent == 0) {
    return rcp_approx_ftz(x * 16777216.0F) * 16777216.0F;
  }
  if (exponent >= 253 && exponent != 255) {
    return rcp_approx_ftz(x * 0.25F) * 0.25F;
  }
  return rcp_approx_ftz(x);
}

template <bool Ftz>
QUANTJIT_SIM_INLINE float rcp_approx_f32(float x) {
  if constexpr (Ftz) {
    return rcp_approx_ftz(x);
  } else {
    return rcp_approx(x);
  }
}

/// div.approx: the dividend times the approximate reciprocal, 0 for 2^126 <= |b| < 2^128.
template <bool Ftz>
QUANTJIT_SIM_INLINE float div_approx_f32(float a, float b) {
  if constexpr (!Ftz) {
    if ((bits_of(b) & 0x7F800000) == 0) {  // both operands are scaled up together
      return mul_f32<Round::kNearest, false, false>(a * 16777216.0F,
                                                    rcp_approx_ftz(b * 16777216.0F));
    }
  }
  return mul_f32<Round::kNearest, Ftz, false>(a, rcp_approx_ftz(b));
}

/// div.full: div.approx with the divisor kept away from both ends of the range.
template <bool Ftz>
QUANTJIT_SIM_INLINE float div_full_f32(float a, float b) {
  a = flush_if<Ftz>(a);
  b = flush_if<Ftz>(b);
  const std::uint32_t exponent = (bits_of(b) >> 23) & 0xFF;
  if (exponent >= 253 && exponent != 255) {
    a *= 0.25F;
    b *= 0.25F;
  } else if (exponent == 0 && !Ftz) {
    a *= 16777216.0F;
    b *= 16777216.0F;
  }
  return mul_f32<Round::kNearest, Ftz, false>(a, rcp_approx_ftz(b));
}

/// Applies a double precision function and rounds once.
template <bool Ftz, double (*F)(double)>
QUANTJIT_SIM_INLINE float through_double(float x) {
  const double r = F(static_cast<double>(flush_if<Ftz>(x)));
  return canonical(flush_if<Ftz>(static_cast<float>(r)));
}

inline double rsqrt_double(double x) {
  return 1.0 / std::sqrt(x);
}

inline double exp2_double(double x) {
  return std::exp2(x);
}

inline double log2_double(double x) {
  return std::log2(x);
}

inline double tanh_double(double x) {
  return std::tanh(x);
}

inline double sin_double(double x) {
  return std::sin(x);
}

inline double cos_double(double x) {
  return std::cos(x);
}

inline double sqrt_double(double x) {
  return std::sqrt(x);
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA

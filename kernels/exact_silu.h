// SPDX-License-Identifier: Apache-2.0
// SiLU of `numerics=exact`: one fixed sequence of IEEE binary32 operations, shared by the device
// code and the CPU reference, so that both give the same bits on every arch and every host.
//
//   exact_exp(x)  = e^x      for -86 <= x <= 88.72283
//                 = +inf     above (the next float is beyond the largest finite result)
//                 = 0        below: there 1 + e^x is 1 in binary32, which is all that SiLU asks
//   exact_silu(g) = g / (1 + exact_exp(-g))
//
// Method: n = nearest integer of x*log2(e); r = x - n*ln2 in two fused steps (the leading part of
// ln2 has 15 bits, so n*kLn2High is exact), |r| <= ln2/2; e^r = 1 + r + r^2*(c2 + c3*r + .. +
// c6*r^4), a least-maximum fit of relative error 2^-28.2 with coefficients rounded to binary32;
// times 2^n in two exact factors, for n reaches 128. The result of exact_exp is within 1 ulp of
// e^x.
//
// Special values follow from the formula: NaN gives NaN; +inf gives +inf; -inf gives -inf/inf =
// NaN; -0 gives -0; finite g below -88.72283 gives g/inf = -0. Subnormal inputs and results are
// kept.
//
// `Ops` names every operation, each of them correctly rounded and none of them contracted or
// flushed:
//   static float fma(float a, float b, float c);  static float add(float, float);  static float
//   mul(float, float); static float div(float, float);  static unsigned to_bits(float);  static
//   float from_bits(unsigned);
// Device: __fmaf_rn, __fadd_rn, __fmul_rn, __fdiv_rn. Host: std::fma and plain operators, compiled
// without contraction.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define QUANTJIT_EXACT_INLINE __host__ __device__ __forceinline__
#else
#define QUANTJIT_EXACT_INLINE inline
#endif

namespace quantjit::exact {

inline constexpr float kExpHighest =
    0x1.62e42ep+6F;                              // 88.722832: the largest x whose e^x is finite
inline constexpr float kExpLowest = -86.0F;      // below it 1 + e^x == 1
inline constexpr float kLog2E = 0x1.715476p+0F;  // 1/ln2
inline constexpr float kRound =
    0x1.8p+23F;  // adding it rounds to an integer, kept in the low mantissa bits
inline constexpr unsigned kRoundBits = 0x4B400000U;  // the bits of kRound
inline constexpr float kLn2High = 0x1.62e4p-1F;      // ln2 to 15 bits
inline constexpr float kLn2Low = 0x1.7f7d1cp-20F;    // ln2 - kLn2High
inline constexpr float kC2 = 0x1.fffffcp-2F;
inline constexpr float kC3 = 0x1.555492p-3F;
inline constexpr float kC4 = 0x1.5558b2p-5F;
inline constexpr float kC5 = 0x1.12398ep-7F;
inline constexpr float kC6 = 0x1.6a4b36p-10F;

/// e^x as the head of this file says.
template <class Ops>
QUANTJIT_EXACT_INLINE float exact_exp(float x) {
  if (x > kExpHighest) {
    return Ops::from_bits(0x7F800000U);
  }
  if (x < kExpLowest) {
    return 0.0F;
  }
  const float rounded = Ops::fma(x, kLog2E, kRound);
  const float n = Ops::add(rounded, -kRound);
  float r = Ops::fma(n, -kLn2High, x);
  r = Ops::fma(n, -kLn2Low, r);
  float p = Ops::fma(kC6, r, kC5);
  p = Ops::fma(p, r, kC4);
  p = Ops::fma(p, r, kC3);
  p = Ops::fma(p, r, kC2);
  p = Ops::fma(p, r, 1.0F);
  p = Ops::fma(p, r, 1.0F);
  // 2^(n-1) as bits: n + 126 is in 2..254 here (and irrelevant for NaN, where p is NaN already).
  const float half_scale = Ops::from_bits((Ops::to_bits(rounded) - kRoundBits + 126U) << 23);
  return Ops::mul(Ops::mul(p, half_scale), 2.0F);
}

/// g / (1 + e^-g).
template <class Ops>
QUANTJIT_EXACT_INLINE float exact_silu(float g) {
  return Ops::div(g, Ops::add(1.0F, exact_exp<Ops>(-g)));
}

}  // namespace quantjit::exact

// SPDX-License-Identifier: Apache-2.0
// SiLU(gate) * up, in the arithmetic of each family:
//   exact                     one documented polynomial, see exact_silu.h
//   sm_100 and later          h + h * tanh(h) as h * (1 + tanh.approx h), h = gate / 2
//   sm_90, fast               gate * rcp.approx(1 + ex2.approx(-gate * log2 e))
//   sm_90, precise            gate * RN(1 / (1 + ..)), sglang_v2: RN(gate / (1 + ..))
// SiLU is rounded to the input type, multiplied by `up` in that type and rounded again; f32 input is
// rounded once.
#pragma once

#include "device/packed.cuh"
#include "exact_silu.h"

namespace quantjit::device {

/// The operations that exact_silu.h asks for.
struct ExactOperations {
  static QUANTJIT_DEVICE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
  static QUANTJIT_DEVICE float add(float a, float b) { return __fadd_rn(a, b); }
  static QUANTJIT_DEVICE float mul(float a, float b) { return __fmul_rn(a, b); }
  static QUANTJIT_DEVICE float div(float a, float b) { return __fdiv_rn(a, b); }
  static QUANTJIT_DEVICE unsigned to_bits(float a) { return as_bits(a); }
  static QUANTJIT_DEVICE float from_bits(unsigned a) { return as_float(a); }
};

template <int kNumerics, int kMath>
QUANTJIT_DEVICE float silu(float gate) {
  if constexpr (kNumerics == kExact) {
    return exact::exact_silu<ExactOperations>(gate);
  } else {
#if __CUDA_ARCH__ >= 1000
    const float half = multiply<kMath>(gate, 0.5F);
    return multiply<kMath>(half, add<kMath>(1.0F, approximate_tanh(half)));
#else
    const float power = approximate_exp2(multiply<kMath>(gate, -0x1.715476P+0F));
    const float denominator = add<kMath>(1.0F, power);
    if constexpr (kMath == kPrecise && kNumerics == kSglang) {
      return multiply<kMath>(gate, __frcp_rn(denominator));
    } else {
      return divide<kMath>(gate, denominator);
    }
#endif
  }
}

/// Replaces the gates by SiLU(gate) * up.
template <int kIn, int kNumerics, int kMath, int kCount>
QUANTJIT_DEVICE void silu_and_multiply(Words<kCount>& gate, const Words<kCount>& up) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if constexpr (kIn == kF32) {
      const float activated = silu<kNumerics, kMath>(as_float(gate.at[i]));
      gate.at[i] = as_bits(multiply<kMath>(activated, as_float(up.at[i])));
    } else {
      float low;
      float high;
      unpack<kIn>(gate.at[i], low, high);
      const U32 activated = pack<kIn>(silu<kNumerics, kMath>(low), silu<kNumerics, kMath>(high));
      gate.at[i] = packed_multiply<kIn>(activated, up.at[i]);
    }
  }
}

}  // namespace quantjit::device

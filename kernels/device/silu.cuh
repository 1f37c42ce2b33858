// SPDX-License-Identifier: Apache-2.0
// SiLU(gate) * up, in the arithmetic of each family:
//   exact                     one documented polynomial, see exact_silu.h
//   sm_100 and later          h + h * tanh(h) as h * (1 + tanh.approx h), h = gate / 2
//   sm_90, fast               gate * rcp.approx(1 + ex2.approx(-gate * log2 e))
//   sm_90, precise            gate * RN(1 / (1 + ..)), sglang_v2: RN(gate / (1 + ..))
// SiLU is rounded to the input type, multiplied by `up` in that type and rounded again; f32 input
// is rounded once.
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

/// SiLU(gate) * up of one register: one f32 or two 16-bit elements.
template <int kIn, int kNumerics, int kMath>
QUANTJIT_DEVICE U32 silu_word(U32 gate, U32 up) {
  if constexpr (kIn == kF32) {
    return as_bits(multiply<kMath>(silu<kNumerics, kMath>(as_float(gate)), as_float(up)));
  } else {
    float low;
    float high;
    unpack<kIn>(gate, low, high);
    const U32 activated = pack<kIn>(silu<kNumerics, kMath>(low), silu<kNumerics, kMath>(high));
    return packed_multiply<kIn>(activated, up);
  }
}

/// Replaces the gates by SiLU(gate) * up. The exact form is long, so it stays a loop: registers
/// cannot be indexed, and the words pass by its first place instead.
template <int kIn, int kNumerics, int kMath, int kCount>
QUANTJIT_DEVICE void silu_and_multiply(Words<kCount>& gate, Words<kCount>& up) {
  if constexpr (kNumerics == kExact) {
#pragma unroll 1
    for (int done = 0; done < kCount; ++done) {
      const U32 activated = silu_word<kIn, kNumerics, kMath>(gate.at[0], up.at[0]);
#pragma unroll
      for (int i = 0; i + 1 < kCount; ++i) {
        gate.at[i] = gate.at[i + 1];
        up.at[i] = up.at[i + 1];
      }
      gate.at[kCount - 1] = activated;
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      gate.at[i] = silu_word<kIn, kNumerics, kMath>(gate.at[i], up.at[i]);
    }
  }
}

}  // namespace quantjit::device

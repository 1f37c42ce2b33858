// SPDX-License-Identifier: Apache-2.0
// Binary32 arithmetic in the two math modes. kFast flushes subnormals and divides by the hardware's
// approximate reciprocal, as kernels built with fast math do; kPrecise rounds correctly and keeps
// subnormals. Nothing is contracted: each operation names its rounding.
#pragma once

#include "device/traits.cuh"
#include "device/types.cuh"

namespace quantjit::device {

/// Smaller and larger number; NaN loses against a number.
QUANTJIT_DEVICE float min_number(float a, float b) {
  float result;
  asm("min.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

QUANTJIT_DEVICE float max_number(float a, float b) {
  float result;
  asm("max.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

template <int kMath>
QUANTJIT_DEVICE float multiply(float a, float b) {
  float result;
  if constexpr (kMath == kFast) {
    asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  } else {
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  }
  return result;
}

template <int kMath>
QUANTJIT_DEVICE float add(float a, float b) {
  float result;
  if constexpr (kMath == kFast) {
    asm("add.rn.ftz.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  } else {
    asm("add.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  }
  return result;
}

/// rcp.approx: 0 from 2^126 on.
QUANTJIT_DEVICE float approximate_reciprocal(float a) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
}

template <int kMath>
QUANTJIT_DEVICE float divide(float a, float b) {
  if constexpr (kMath == kFast) {
    return multiply<kFast>(a, approximate_reciprocal(b));
  } else {
    float result;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
  }
}

/// 2^a.
QUANTJIT_DEVICE float approximate_exp2(float a) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
}

QUANTJIT_DEVICE float approximate_tanh(float a) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
}

/// Both products, in one instruction on SM100 and later.
template <int kMath>
QUANTJIT_DEVICE void multiply_pair(float& a, float& b, float factor) {
#if __CUDA_ARCH__ >= 1000
  U64 pair;
  U64 factors;
  asm("mov.b64 %0, {%1, %2};" : "=l"(pair) : "f"(a), "f"(b));
  asm("mov.b64 %0, {%1, %1};" : "=l"(factors) : "f"(factor));
  if constexpr (kMath == kFast) {
    asm("mul.rn.ftz.f32x2 %0, %0, %1;" : "+l"(pair) : "l"(factors));
  } else {
    asm("mul.rn.f32x2 %0, %0, %1;" : "+l"(pair) : "l"(factors));
  }
  asm("mov.b64 {%0, %1}, %2;" : "=f"(a), "=f"(b) : "l"(pair));
#else
  a = multiply<kMath>(a, factor);
  b = multiply<kMath>(b, factor);
#endif
}

/// Quotient of n < 2^31.
QUANTJIT_DEVICE U32 quotient(U32 n, const Divisor& by) {
  return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

}  // namespace quantjit::device

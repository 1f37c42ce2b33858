// SPDX-License-Identifier: Apache-2.0
// Arithmetic on two 16-bit elements in one register (bf16x2, f16x2). Never flushes, whatever the
// math mode; NaN loses against a number in min and max.
#pragma once

#include "device/math.cuh"

namespace quantjit::device {

template <int kIn>
QUANTJIT_DEVICE U32 packed_multiply(U32 a, U32 b) {
  U32 result;
  if constexpr (kIn == kBF16) {
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  } else {
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  return result;
}

template <int kIn>
QUANTJIT_DEVICE U32 packed_max(U32 a, U32 b) {
  U32 result;
  if constexpr (kIn == kBF16) {
    asm("max.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  } else {
    asm("max.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  return result;
}

template <int kIn>
QUANTJIT_DEVICE U32 packed_min(U32 a, U32 b) {
  U32 result;
  if constexpr (kIn == kBF16) {
    asm("min.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  } else {
    asm("min.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  return result;
}

/// Larger of each half as signed integers.
QUANTJIT_DEVICE U32 packed_max_signed(U32 a, U32 b) {
  U32 result;
  asm("max.s16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}

/// Both halves as floats; exact.
template <int kIn>
QUANTJIT_DEVICE void unpack(U32 pair, float& low, float& high) {
  if constexpr (kIn == kBF16) {
    low = as_float(pair << 16);
    high = as_float(pair & 0xFFFF0000U);
  } else {
    asm("{.reg .b16 l, h;\n\t"
        "mov.b32 {l, h}, %2;\n\t"
        "cvt.f32.f16 %0, l;\n\t"
        "cvt.f32.f16 %1, h;}"
        : "=f"(low), "=f"(high)
        : "r"(pair));
  }
}

/// Rounds to nearest even.
template <int kIn>
QUANTJIT_DEVICE U32 pack(float low, float high) {
  U32 result;
  if constexpr (kIn == kBF16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  }
  return result;
}

}  // namespace quantjit::device

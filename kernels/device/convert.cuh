// SPDX-License-Identifier: Apache-2.0
// Four floats to four 8-bit codes, the first in the lowest byte.
#pragma once

#include "device/types.cuh"

namespace quantjit::device {

/// E4M3, nearest even, saturating at +-448; NaN gives 0x7F.
QUANTJIT_DEVICE U32 to_e4m3(float a, float b, float c, float d) {
  U32 result;
  asm("{.reg .b16 l, h;\n\t"
      "cvt.rn.satfinite.e4m3x2.f32 l, %2, %1;\n\t"
      "cvt.rn.satfinite.e4m3x2.f32 h, %4, %3;\n\t"
      "mov.b32 %0, {l, h};}"
      : "=r"(result)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return result;
}

/// The low bytes of four integers after saturation to -128..127.
QUANTJIT_DEVICE U32 saturate_int8(I32 a, I32 b, I32 c, I32 d) {
  U32 result;
  asm("{.reg .b32 h;\n\t"
      "cvt.pack.sat.s8.s32.b32 h, %4, %3, 0;\n\t"
      "cvt.pack.sat.s8.s32.b32 %0, %2, %1, h;}"
      : "=r"(result)
      : "r"(a), "r"(b), "r"(c), "r"(d));
  return result;
}

/// int8, saturating; NaN gives 0. Truncates, or rounds to nearest even.
template <bool kTruncate>
QUANTJIT_DEVICE U32 to_int8(float a, float b, float c, float d) {
  if constexpr (kTruncate) {
    return saturate_int8(__float2int_rz(a), __float2int_rz(b), __float2int_rz(c),
                         __float2int_rz(d));
  } else {
    return saturate_int8(__float2int_rn(a), __float2int_rn(b), __float2int_rn(c),
                         __float2int_rn(d));
  }
}

}  // namespace quantjit::device

// SPDX-License-Identifier: Apache-2.0
// Fixed-width types and the register file of one thread's elements.
#pragma once

#include "params.h"

namespace quantjit::device {

using U16 = unsigned short;
using U8 = unsigned char;
using I32 = int;
using U64 = unsigned long long;

static_assert(sizeof(U16) == 2 && sizeof(U32) == 4 && sizeof(I64) == 8, "fixed-width types");

#define QUANTJIT_DEVICE __device__ __forceinline__

/// 32-bit registers; 16-bit elements lie two to a register, the earlier one in the low half.
template <int kCount>
struct alignas(kCount % 4 == 0   ? 16
               : kCount % 2 == 0 ? 8
                                 : 4) Words {
  U32 at[kCount];
};

QUANTJIT_DEVICE float as_float(U32 bits) {
  return __uint_as_float(bits);
}

QUANTJIT_DEVICE U32 as_bits(float value) {
  return __float_as_uint(value);
}

}  // namespace quantjit::device

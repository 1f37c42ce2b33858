// SPDX-License-Identifier: Apache-2.0
// Where a group's scale goes:
//   f32, f32_pow2     float at token * s_token_stride + group * s_group_stride
//   e8m0, row         byte at the same place
//   ue8m0             byte group % 4 of the word at token * s_token_stride + group / 4 * s_group_stride
//   swizzle128x4      tiles of 128 tokens x 4 groups, 512 bytes each, row-tile major; in a tile
//                     token % 32 * 16 + token / 32 % 4 * 4 + group % 4
#pragma once

#include "device/scale.cuh"
#include "group_quant/traits.cuh"

namespace quantjit::device {

/// Bytes that the four groups of a word share, zeroing those of the row's last word that no group
/// owns.
QUANTJIT_DEVICE void store_packed_exponent(char* word, U32 group, U32 num_groups, U32 exponent) {
  const U32 place = group % 4;
  word[place] = static_cast<char>(exponent);
  if (group + 1 == num_groups) {
    if (place % 2 == 0) {
      word[place + 1] = 0;
    }
    if (place < 2) {
      *reinterpret_cast<U16*>(word + 2) = 0;
    }
  }
}

/// One lane a group. `base` is the expert's first scale.
template <class T>
QUANTJIT_DEVICE void store_scale(const GroupQuantParams& p, char* base, I64 token, U32 group,
                                 const Scale& scale) {
  if constexpr (T::kPacked) {
    char* word = base + static_cast<I64>(group / 4) * p.s_group_stride;
    if constexpr (T::kSwizzled) {
      word += (token >> 7) * p.s_token_stride + (token & 31) * 16 + (token >> 5 & 3) * 4;
    } else {
      word += token * p.s_token_stride;
    }
    store_packed_exponent(word, group, p.num_groups, scale.exponent);
  } else {
    char* place = base + token * p.s_token_stride + static_cast<I64>(group) * p.s_group_stride;
    if constexpr (T::kScale == kScaleE8M0) {
      *place = static_cast<char>(scale.exponent);
    } else {
      *reinterpret_cast<float*>(place) = scale.stored;
    }
  }
}

}  // namespace quantjit::device

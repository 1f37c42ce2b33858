// SPDX-License-Identifier: Apache-2.0
// Where a group's scale goes:
//   f32, f32_pow2     float at token * s_token_stride + group * s_group_stride
//   e8m0, row         byte at the same place
//   ue8m0             byte group % 4 of the word at token * s_token_stride + group / 4 *
//   s_group_stride swizzle128x4      tiles of 128 tokens x 4 groups, 512 bytes each, row-tile
//   major; in a tile
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

/// Address of a group's scale, or of the word that holds its byte.
template <class T>
QUANTJIT_DEVICE char* scale_address(const GroupQuantParams& p, U32 expert, I64 token, U32 group) {
  char* address = static_cast<char*>(p.output_s) + expert * p.s_expert_stride;
  if constexpr (T::kSwizzled) {
    address += (token >> 7) * p.s_token_stride + (token & 31) * 16 + (token >> 5 & 3) * 4;
  } else {
    address += token * p.s_token_stride;
  }
  return address + static_cast<I64>(T::kPacked ? group / 4 : group) * p.s_group_stride;
}

/// One lane a group, at scale_address().
template <class T>
QUANTJIT_DEVICE void store_scale(char* address, U32 group, U32 num_groups, const Scale& scale) {
  if constexpr (T::kPacked) {
    store_packed_exponent(address, group, num_groups, scale.exponent);
  } else if constexpr (T::kScale == kScaleE8M0) {
    *address = static_cast<char>(scale.exponent);
  } else {
    *reinterpret_cast<float*>(address) = scale.stored;
  }
}

}  // namespace quantjit::device

// SPDX-License-Identifier: Apache-2.0
// One lane's share of a group: load, activate, reduce over the group's lanes, quantize, store.
#pragma once

#include "device/amax.cuh"
#include "device/memory.cuh"
#include "device/quantize.cuh"
#include "device/silu.cuh"
#include "device/warp.cuh"
#include "group_quant/store_scale.cuh"

namespace quantjit::device {

/// Which chunk a lane works on. Dead lanes take part in the reductions only.
struct ChunkPlace {
  U32 expert;
  I64 token;
  U32 column;  // in chunks
  bool live;
  bool pad;  // a row beyond the input: zeros are written
};

template <class T>
QUANTJIT_DEVICE void load_chunk(const GroupQuantParams& p, const ChunkPlace& at,
                                Words<T::kWords>& words) {
  const char* from = static_cast<const char*>(p.input) + at.expert * p.input_expert_stride +
                     at.token * p.input_token_stride + static_cast<I64>(at.column) * T::kChunkBytes;
  const bool aligned32 = (p.flags & kInputAligned32) != 0;
  load_words(from, aligned32, words);
  if constexpr (T::kSilu) {
    Words<T::kWords> up;
    load_words(from + p.input_up_offset, aligned32, up);
    silu_and_multiply<T::kIn, T::kNumerics, T::kMath>(words, up);
  }
}

/// Called by whole warps; the lanes of a group are live together.
template <class T>
QUANTJIT_DEVICE void quantize_chunk(const GroupQuantParams& p, const ChunkPlace& at) {
  constexpr bool kFinite = T::kNumerics == kExact;
  const bool reads = at.live && !(T::kPadRows && at.pad);
  Words<T::kWords> words = {};
  if (reads) {
    load_chunk<T>(p, at, words);
  }
  const float amax = lanes_max<T::kLanes>(thread_amax<T::kIn, kFinite>(words, kAmaxFloor));
  Scale scale = group_scale<T::kOut, T::kPowerOfTwo, T::kNumerics, T::kMath>(amax);
  Words<T::kElements / 4> codes;
  quantize<T::kIn, T::kOut, T::kPowerOfTwo, T::kNumerics, T::kMath>(words, scale.multiplier, codes);
  if (!at.live) {
    return;
  }
  const U32 group = at.column / T::kLanes;
  bool stores_q = true;
  bool stores_scale = at.column % T::kLanes == 0;
  if constexpr (T::kPadRows) {
    if (at.pad) {
      // Pad rows were read as zeros, so their codes are zeros; their scale bytes are to be zero too.
      scale.exponent = 0;
      stores_q = at.token < p.q_fill_end;
      // vLLM leaves the pad words of the last column alone: they lie outside the tensor's span.
      stores_scale = stores_scale && (T::kSwizzled || (group / 4 != (p.num_groups - 1) / 4 &&
                                                       at.token - p.num_tokens < p.s_fill_rows));
    }
  }
  if (stores_q) {
    store_words(static_cast<char*>(p.output_q) + at.expert * p.q_expert_stride +
                    at.token * p.q_token_stride + static_cast<I64>(at.column) * T::kElements,
                codes);
  }
  if (stores_scale) {
    store_scale<T>(p, static_cast<char*>(p.output_s) + at.expert * p.s_expert_stride, at.token,
                   group, scale);
  }
}

}  // namespace quantjit::device

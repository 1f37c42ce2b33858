// SPDX-License-Identifier: Apache-2.0
// One lane's share of a group: load, activate, reduce over the group's lanes, quantize, store.
#pragma once

#include "device/amax.cuh"
#include "device/memory.cuh"
#include "device/pdl.cuh"
#include "device/quantize.cuh"
#include "device/silu.cuh"
#include "device/warp.cuh"
#include "group_quant/store_scale.cuh"

namespace quantjit::device {

/// Which chunk a lane works on.
struct ChunkIndex {
  U32 expert;
  I64 token;
  U32 column;  // in chunks
  bool live;   // dead lanes take part in the reductions only
  bool pad;    // a row beyond the input: zeros are written
};

/// Where its operands are, and what it writes.
struct ChunkPlace {
  const char* from;
  const char* up;  // the up half of the row, with SiLU
  char* q;
  char* scale;  // the group's scale, or the word that holds its byte
  U32 group;
  U32 num_groups;
  bool reads;
  bool stores_q;
  bool stores_scale;
  bool pad;
};

template <class T>
QUANTJIT_DEVICE ChunkPlace place_chunk(const GroupQuantParams& p, const ChunkIndex& at) {
  ChunkPlace place;
  place.group = at.column / T::kLanes;
  place.num_groups = p.num_groups;
  place.pad = T::kPadRows && at.pad;
  place.reads = at.live && !place.pad;
  place.stores_q = at.live;
  place.stores_scale = at.live && at.column % T::kLanes == 0;
  place.from = static_cast<const char*>(p.input) + at.expert * p.input_expert_stride +
               at.token * p.input_token_stride + static_cast<I64>(at.column) * T::kChunkBytes;
  place.up = place.from + p.input_up_offset;
  place.q = static_cast<char*>(p.output_q) + at.expert * p.q_expert_stride +
            at.token * p.q_token_stride + static_cast<I64>(at.column) * T::kElements;
  place.scale = scale_address<T>(p, at.expert, at.token, place.group);
  if constexpr (T::kPadRows) {
    if (at.pad) {
      place.stores_q = place.stores_q && at.token < p.q_fill_end;
      // vLLM leaves the pad words of the last column alone: they lie outside the tensor's span.
      place.stores_scale =
          place.stores_scale && (T::kSwizzled || (place.group / 4 != (p.num_groups - 1) / 4 &&
                                                  at.token - p.num_tokens < p.s_fill_rows));
    }
  }
  return place;
}

/// Before the wait: everything is computed, and with kPrefetchInput the input is on its way.
template <class T>
QUANTJIT_DEVICE void prepare_chunk(const GroupQuantParams& p, ChunkPlace& place) {
  if ((p.flags & kPrefetchInput) != 0 && place.reads) {
    prefetch_l2(place.from);
    if constexpr (T::kSilu) {
      prefetch_l2(place.up);
    }
  }
  keep(place.from);
  keep(place.up);
  keep(place.q);
  keep(place.scale);
  keep(place.num_groups);
}

/// Called by whole warps; the lanes of a group are live together.
template <class T>
QUANTJIT_DEVICE void quantize_chunk(const GroupQuantParams& p, const ChunkPlace& place) {
  constexpr bool kFinite = T::kNumerics == kExact;
  const bool aligned32 = (p.flags & kInputAligned32) != 0;
  Words<T::kWords> words = {};
  Words<T::kSilu ? T::kWords : 1> up = {};
  if (place.reads) {
    load_words(place.from, aligned32, words);
    if constexpr (T::kSilu) {
      load_words(place.up, aligned32, up);
    }
  }
  if constexpr (T::kSilu) {
    silu_and_multiply<T::kIn, T::kNumerics, T::kMath>(words, up);
  }
  const float amax = lanes_max<T::kLanes>(thread_amax<T::kIn, kFinite>(words, kAmaxFloor));
  Scale scale = group_scale<T::kOut, T::kPowerOfTwo, T::kNumerics, T::kMath>(amax);
  Words<T::kElements / 4> codes;
  quantize<T::kIn, T::kOut, T::kPowerOfTwo, T::kNumerics, T::kMath>(words, scale.multiplier, codes);
  if (place.stores_q) {
    store_words(place.q, codes);
  }
  if (place.stores_scale) {
    // Pad rows were read as zeros, so their codes are zeros; their scale bytes are to be zero too.
    scale.exponent = place.pad ? 0 : scale.exponent;
    store_scale<T>(place.scale, place.group, place.num_groups, scale);
  }
}

}  // namespace quantjit::device

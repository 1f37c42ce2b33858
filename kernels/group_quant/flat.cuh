// SPDX-License-Identifier: Apache-2.0
// schedule=flat: thread i of a slab takes chunk i.
#pragma once

#include "device/pdl.cuh"
#include "group_quant/chunk.cuh"

namespace quantjit::device {

template <int kIn, int kOut, int kGroup, int kScale, int kLayout, bool kSilu, int kNumerics,
          int kFill, bool kPdl, int kMath, int kElements>
__global__ void QUANTJIT_GROUP_BOUNDS
    per_token_group_quant_flat(const __grid_constant__ GroupQuantParams p) {
  using T = GroupTraits<kIn, kOut, kGroup, kScale, kLayout, kSilu, kNumerics, kFill, kMath, kElements>;
  pdl_trigger<kPdl>();
  const U32 chunk = blockIdx.x * blockDim.x + threadIdx.x;
  const U32 end = blockIdx.y + 1 == gridDim.y ? p.last_slab_chunks : p.slab_chunks;
  const U32 row = quotient(chunk, p.row_chunks);
  ChunkPlace at;
  at.expert = 0;
  at.token = static_cast<I64>(blockIdx.y) * p.slab_rows + row;
  at.column = chunk - row * p.row_chunks.value;
  at.live = chunk < end;
  at.pad = T::kPadRows && at.token >= p.num_tokens;
  pdl_wait<kPdl>();
  quantize_chunk<T>(p, at);
}

}  // namespace quantjit::device

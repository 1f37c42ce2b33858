// SPDX-License-Identifier: Apache-2.0
// schedule=flat: thread i of a slab takes chunk i.
//
// 2026-11-29, H200, bf16 to e4m3 with packed exponents, us. Addresses before the wait, the trigger
// right after it, the input prefetched: 1 x 7168 0.98 -> 0.84, 64 x 7168 1.81 -> 1.44, 256 x
// 7168 3.14 -> 2.36. Prefetching costs up to 12 % where the input is larger than what the L2 cache
// can take beside the kernel in front, so the geometry asks for it below that. With SiLU the
// trigger right after the wait instead of behind the loads: 64 x 2048 1.34 -> 1.22, 1024 x 2048
// 4.04 -> 3.60; blocks of 128 instead of 512 threads for much work: 16384 x 7168 137 -> 134.
#pragma once

#include "device/pdl.cuh"
#include "group_quant/chunk.cuh"

namespace quantjit::device {

template <int kIn, int kOut, int kGroup, int kScale, int kLayout, bool kSilu, int kNumerics,
          int kFill, bool kPdl, int kMath, int kElements>
__global__ void QUANTJIT_FLAT_BOUNDS(kSilu)
    per_token_group_quant_flat(const __grid_constant__ GroupQuantParams p) {
  using T =
      GroupTraits<kIn, kOut, kGroup, kScale, kLayout, kSilu, kNumerics, kFill, kMath, kElements>;
  const U32 chunk = blockIdx.x * blockDim.x + threadIdx.x;
  const U32 end = blockIdx.y + 1 == gridDim.y ? p.last_slab_chunks : p.slab_chunks;
  const U32 row = quotient(chunk, p.row_chunks);
  ChunkIndex at;
  at.expert = 0;
  at.token = static_cast<I64>(blockIdx.y) * p.slab_rows + row;
  at.column = chunk - row * p.row_chunks.value;
  at.live = chunk < end;
  at.pad = T::kPadRows && at.token >= p.num_tokens;
  ChunkPlace place = place_chunk<T>(p, at);
  prepare_chunk<T>(p, place);
  pdl_wait<kPdl>();
  pdl_trigger<kPdl>();
  quantize_chunk<T>(p, place);
}

}  // namespace quantjit::device

// SPDX-License-Identifier: Apache-2.0
// schedule=masked: warps share the live rows of all experts of a slice evenly, however the load is
// spread. A unit is 32 chunks of one expert. Every warp walks masked_m of its slice once, 128 experts
// at a time, and takes each gridDim.x * warps-th unit; no counter and no shared memory is needed.
#pragma once

#include "device/pdl.cuh"
#include "group_quant/chunk.cuh"

namespace quantjit::device {

constexpr U32 kMaskBlocks = 4;  // loads of masked_m in flight

/// Live rows of an expert inside a slab that starts at `first_row`.
QUANTJIT_DEVICE U32 live_rows(const GroupQuantParams& p, U32 expert, I64 first_row) {
  I64 rows = (p.flags & kMaskIs64Bit) != 0 ? static_cast<const I64*>(p.masked_m)[expert]
                                           : static_cast<const I32*>(p.masked_m)[expert];
  rows = (rows < p.num_tokens ? rows : p.num_tokens) - first_row;
  rows = rows > 0 ? rows : 0;
  return rows < p.slab_rows ? static_cast<U32>(rows) : p.slab_rows;
}

/// Rows to visit for `rows` live ones: swizzled tiles are completed with zeros.
template <class T>
QUANTJIT_DEVICE U32 visited_rows(U32 rows) {
  return T::kSwizzled ? (rows + 127) / 128 * 128 : rows;
}

template <int kIn, int kOut, int kGroup, int kScale, int kLayout, bool kSilu, int kNumerics,
          int kFill, bool kPdl, int kMath, int kElements>
__global__ void __launch_bounds__(256)
    per_token_group_quant_masked(const __grid_constant__ GroupQuantParams p) {
  using T = GroupTraits<kIn, kOut, kGroup, kScale, kLayout, kSilu, kNumerics, kFill, kMath, kElements>;
  pdl_trigger<kPdl>();
  const U32 lane = threadIdx.x % kWarp;
  const U32 stride = gridDim.x * (blockDim.x / kWarp);
  const I64 first_row = static_cast<I64>(blockIdx.z) * p.slab_rows;
  const U32 begin = blockIdx.y * p.slice_experts;
  const U32 end = p.num_experts - begin < p.slice_experts ? p.num_experts : begin + p.slice_experts;
  // The next unit of this warp, counted from the first unit of the experts at hand.
  U32 unit = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  pdl_wait<kPdl>();
  for (U32 first = begin; first < end; first += kMaskBlocks * kWarp) {
    U32 rows_of[kMaskBlocks];
#pragma unroll
    for (U32 i = 0; i < kMaskBlocks; ++i) {
      const U32 expert = first + i * kWarp + lane;
      rows_of[i] = expert < end ? live_rows(p, expert, first_row) : 0;
    }
#pragma unroll 1
    for (U32 i = 0; i < kMaskBlocks; ++i) {
      const U32 rows = i < 2 ? (i == 0 ? rows_of[0] : rows_of[1]) : (i == 2 ? rows_of[2] : rows_of[3]);
      const U32 units = (visited_rows<T>(rows) * p.row_chunks.value + kWarp - 1) / kWarp;
      const U32 total = warp_sum(units);
      if (unit < total) {
        const U32 sum = inclusive_sum(units, lane);
        do {
          const U32 owner = __popc(__ballot_sync(kFullMask, sum <= unit));
          const U32 before = __shfl_sync(kFullMask, sum - units, owner);
          const U32 live = __shfl_sync(kFullMask, rows, owner);
          const U32 chunk = (unit - before) * kWarp + lane;
          const U32 row = quotient(chunk, p.row_chunks);
          ChunkPlace at;
          at.expert = first + i * kWarp + owner;
          at.token = first_row + row;
          at.column = chunk - row * p.row_chunks.value;
          at.live = chunk < visited_rows<T>(live) * p.row_chunks.value;
          at.pad = T::kSwizzled && row >= live;
          quantize_chunk<T>(p, at);
          unit += stride;
        } while (unit < total);
      }
      unit -= total;
    }
  }
}

}  // namespace quantjit::device

// SPDX-License-Identifier: Apache-2.0
// Warp-wide reductions. Every function here is called by all 32 lanes.
#pragma once

#include "device/math.cuh"

namespace quantjit::device {

constexpr U32 kFullMask = 0xFFFFFFFFU;
constexpr int kWarp = 32;

/// Maximum over each aligned run of kLanes lanes (a power of two); NaN is ignored.
template <int kLanes>
QUANTJIT_DEVICE float lanes_max(float value) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    value = max_number(value, __shfl_xor_sync(kFullMask, value, distance));
  }
  return value;
}

/// Maximum over the warp of values that are not negative and not NaN.
QUANTJIT_DEVICE float warp_max_nonnegative(float value) {
#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL) || \
    (defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH_FAMILY_SPECIFIC__ == 1000)
  float result;
  asm volatile("redux.sync.max.f32 %0, %1, 0xFFFFFFFF;" : "=f"(result) : "f"(value));
  return result;
#else
  // Such floats are ordered as their bits are.
  return as_float(__reduce_max_sync(kFullMask, as_bits(value)));
#endif
}

QUANTJIT_DEVICE U32 warp_sum(U32 value) { return __reduce_add_sync(kFullMask, value); }

/// Sum over this lane and all lower ones.
QUANTJIT_DEVICE U32 inclusive_sum(U32 value, U32 lane) {
#pragma unroll 1
  for (U32 distance = 1; distance < kWarp; distance *= 2) {
    const U32 below = __shfl_up_sync(kFullMask, value, distance);
    value += lane >= distance ? below : 0;
  }
  return value;
}

}  // namespace quantjit::device

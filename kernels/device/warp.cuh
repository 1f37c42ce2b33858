// SPDX-License-Identifier: Apache-2.0
// Warp-wide reductions. Every function here is called by all 32 lanes.
#pragma once

#include "device/math.cuh"

namespace quantjit::device {

constexpr U32 kFullMask = 0xFFFFFFFFU;
constexpr int kWarp = 32;

/// Larger of this lane's value and that of the lane kDistance away; NaN is ignored.
template <int kDistance>
QUANTJIT_DEVICE float exchange_max(float value) {
  asm volatile(
      "{.reg .f32 other;\n\t"
      "shfl.sync.bfly.b32 other, %0, %1, 31, 0xFFFFFFFF;\n\t"
      "max.f32 %0, %0, other;}"
      : "+f"(value)
      : "n"(kDistance));
  return value;
}

/// Maximum over each aligned run of kLanes lanes (1, 2, 4, 8 or 16); NaN is ignored. Spelled out,
/// for loops cost the compiler more than they save here.
template <int kLanes>
QUANTJIT_DEVICE float lanes_max(float value) {
  if constexpr (kLanes >= 16) {
    value = exchange_max<8>(value);
  }
  if constexpr (kLanes >= 8) {
    value = exchange_max<4>(value);
  }
  if constexpr (kLanes >= 4) {
    value = exchange_max<2>(value);
  }
  if constexpr (kLanes >= 2) {
    value = exchange_max<1>(value);
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

/// Sum over this lane and all lower ones.
QUANTJIT_DEVICE U32 inclusive_sum(U32 value) {
  asm volatile(
      "{.reg .b32 below; .reg .pred inside;\n\t"
      "shfl.sync.up.b32 below|inside, %0, 1, 0, 0xFFFFFFFF;\n\t@inside add.u32 %0, %0, below;\n\t"
      "shfl.sync.up.b32 below|inside, %0, 2, 0, 0xFFFFFFFF;\n\t@inside add.u32 %0, %0, below;\n\t"
      "shfl.sync.up.b32 below|inside, %0, 4, 0, 0xFFFFFFFF;\n\t@inside add.u32 %0, %0, below;\n\t"
      "shfl.sync.up.b32 below|inside, %0, 8, 0, 0xFFFFFFFF;\n\t@inside add.u32 %0, %0, below;\n\t"
      "shfl.sync.up.b32 below|inside, %0, 16, 0, 0xFFFFFFFF;\n\t@inside add.u32 %0, %0, below;}"
      : "+r"(value));
  return value;
}

}  // namespace quantjit::device

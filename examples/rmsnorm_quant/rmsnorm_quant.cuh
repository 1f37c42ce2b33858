// SPDX-License-Identifier: Apache-2.0
// RMSNorm and quantization of its result in one pass: a row is read twice, from memory and from the
// cache, and written once as e4m3 with one scale.
//
//   y = x * (1 / sqrt(mean(x^2) + epsilon)) * weight,  scale = max|y| / 448,  q = RN(y / scale)
//
// One block of kThreads threads a row. A row of zeros gives scale 0 and codes 0. Every operation
// names its rounding and the order of the sums is fixed, so that a CPU gets the same bits.
#pragma once

#include "device/convert.cuh"
#include "device/memory.cuh"
#include "device/packed.cuh"
#include "device/pdl.cuh"
#include "device/warp.cuh"
#include "rmsnorm_params.h"

namespace engine {

using namespace quantjit::device;

constexpr unsigned kElements = 8;  // a thread loads 16 bytes at once

/// What the warps of a block have, combined in order, in all threads. Each kind of combination has
/// shared memory of its own.
template <int kThreads, typename Combine>
QUANTJIT_DEVICE float combine_warps(float value, Combine combine) {
  __shared__ float partial[kThreads / kWarp];
  if (threadIdx.x % kWarp == 0) {
    partial[threadIdx.x / kWarp] = value;
  }
  __syncthreads();
  value = partial[0];
#pragma unroll
  for (int warp = 1; warp < kThreads / kWarp; ++warp) {
    value = combine(value, partial[warp]);
  }
  return value;
}

/// Sum over the block, in all threads: lanes by halving distances, then warps in order.
template <int kThreads>
QUANTJIT_DEVICE float block_sum(float value) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = __fadd_rn(value, __shfl_xor_sync(kFullMask, value, distance));
  }
  return combine_warps<kThreads>(value, [](float a, float b) { return __fadd_rn(a, b); });
}

/// Maximum of values that are not negative, over the block, in all threads.
template <int kThreads>
QUANTJIT_DEVICE float block_max(float value) {
  value = warp_max_nonnegative(value);
  return combine_warps<kThreads>(value, [](float a, float b) { return fmaxf(a, b); });
}

template <int kIn>
QUANTJIT_DEVICE void load_floats(const void* from, unsigned at, float* to) {
  Words<kElements / 2> words;
  load_words(static_cast<const char*>(from) + 2 * static_cast<I64>(at), false, words);
#pragma unroll
  for (unsigned i = 0; i < kElements / 2; ++i) {
    unpack<kIn>(words.at[i], to[2 * i], to[2 * i + 1]);
  }
}

/// The normalized elements from `at` on.
template <int kIn>
QUANTJIT_DEVICE void normalize(const void* row, const void* weight, unsigned at, float factor,
                               float* y) {
  float w[kElements];
  load_floats<kIn>(row, at, y);
  load_floats<kIn>(weight, at, w);
#pragma unroll
  for (unsigned i = 0; i < kElements; ++i) {
    y[i] = __fmul_rn(__fmul_rn(y[i], factor), w[i]);
  }
}

template <int kIn, int kThreads, bool kPdl>
__global__ void __launch_bounds__(kThreads) rmsnorm_quant(const __grid_constant__ RmsNormParams p) {
  static_assert(kIn == kBF16 || kIn == kF16, "16-bit input");
  static_assert(kThreads % kWarp == 0, "whole warps");
  const I64 first = static_cast<I64>(blockIdx.x) * p.hidden;
  const char* const row = static_cast<const char*>(p.input) + 2 * first;
  char* const to = static_cast<char*>(p.output_q) + first;
  constexpr unsigned kStep = kThreads * kElements;
  pdl_wait<kPdl>();

  float sum = 0.0F;
  for (unsigned at = threadIdx.x * kElements; at < p.hidden; at += kStep) {
    float x[kElements];
    load_floats<kIn>(row, at, x);
#pragma unroll
    for (unsigned i = 0; i < kElements; ++i) {
      sum = __fadd_rn(sum, __fmul_rn(x[i], x[i]));
    }
  }
  const float mean = __fdiv_rn(block_sum<kThreads>(sum), static_cast<float>(p.hidden));
  const float factor = __fdiv_rn(1.0F, __fsqrt_rn(__fadd_rn(mean, p.epsilon)));

  float largest = 0.0F;
  for (unsigned at = threadIdx.x * kElements; at < p.hidden; at += kStep) {
    float y[kElements];
    normalize<kIn>(row, p.weight, at, factor, y);
#pragma unroll
    for (unsigned i = 0; i < kElements; ++i) {
      largest = fmaxf(largest, fabsf(y[i]));
    }
  }
  pdl_trigger<kPdl>();
  const float scale = __fdiv_rn(block_max<kThreads>(largest), 448.0F);
  if (threadIdx.x == 0) {
    p.output_s[blockIdx.x] = scale;
  }
  const float divisor = scale == 0.0F ? 1.0F : scale;

  for (unsigned at = threadIdx.x * kElements; at < p.hidden; at += kStep) {
    float y[kElements];
    normalize<kIn>(row, p.weight, at, factor, y);
#pragma unroll
    for (unsigned i = 0; i < kElements; ++i) {
      y[i] = __fdiv_rn(y[i], divisor);
    }
    Words<2> codes;
    codes.at[0] = to_e4m3(y[0], y[1], y[2], y[3]);
    codes.at[1] = to_e4m3(y[4], y[5], y[6], y[7]);
    store_words(to + at, codes);
  }
}

}  // namespace engine

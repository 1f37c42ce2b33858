// SPDX-License-Identifier: Apache-2.0
// per_token_quant: quantizes every row with one scale. One read of the input: a row stays in the
// registers of its threads, and only what does not fit there is read again.
//
//   sglang   m = max |x| (0 for a row of NaN), scale = m / 448, code = x * (1 / scale)
//   exact    m = max(|x| over finite x, 1e-10), scale = RN(m / 448), code = RN(x * RN(448 / m))
//
// | operand  | shape                    | strides          |
// |----------|--------------------------|------------------|
// | input    | [T, H] bf16, f16 or f32  | token, in bytes  |
// | output_q | [rows >= T, H] e4m3      | token, in bytes  |
// | output_s | [rows >= T] f32          | contiguous       |
//
// Template parameters (values in device/traits.cuh): kIn; kNumerics sglang or exact; kPdl; kMath;
// kElements loaded at once: 4 (any row), 8, or 16 (16-bit only; 32 bytes).
//
// Launch contract: block (threads a row, rows), threads a row a multiple of 32, at most 1024
// threads; grid (x, y) covers the rows in x-major order; static shared memory 128 bytes. sm_90 or
// later. With kPdl every CTA waits, and triggers its dependents once its loads are issued.
//
// Numerics: kFast multiplies by fl(1/448) and takes rcp.approx.ftz, subnormals flush; kPrecise
// divides twice, correctly rounded. A zero row gives scale 0; its multiplier is infinite and its
// codes 0x7E, or with kZeroRowGuard 0 and the codes +-0. sglang: NaN -> 0x7E; exact: NaN -> 0x7F.
// Source: kernel contract of the README; numerics=sglang gives the bits of SGLang's per-token
// kernels. Proven by tests/sim/descriptor_bits.cpp (against the CPU reference) and the golden
// cases.
//
// 2026-11-29, H200, bf16, us: two vectors a thread, addresses and prefetch before the wait, trigger
// after the loads: 1 x 7168 1.83 -> 1.02, 64 x 7168 2.87 -> 1.59, 1024 x 7168 7.84 -> 6.82, 4096 x
// 2048 8.00 -> 7.59.
#pragma once

#include "device/amax.cuh"
#include "device/memory.cuh"
#include "device/pdl.cuh"
#include "device/quantize.cuh"
#include "device/scale.cuh"
#include "device/warp.cuh"

namespace quantjit::device {

constexpr U32 kHeldVectors = 2;  // a thread's registers hold so many vectors of its row

/// Maximum over the threads of each row, in all of them. Called by the whole block.
QUANTJIT_DEVICE float row_max(float value) {
  value = warp_max_nonnegative(value);
  if (blockDim.x > kWarp) {
    __shared__ float partial[kWarp];
    const U32 lane = threadIdx.x % kWarp;
    const U32 warps = blockDim.x / kWarp;
    const U32 first = threadIdx.y * warps;
    if (lane == 0) {
      partial[first + threadIdx.x / kWarp] = value;
    }
    __syncthreads();
    value = warp_max_nonnegative(lane < warps ? partial[first + lane] : 0.0F);
  }
  return value;
}

template <int kNumerics, int kMath>
QUANTJIT_DEVICE Scale row_scale(float amax, bool zero_row_guard) {
  if constexpr (kNumerics == kExact) {
    return group_scale<kE4M3, false, kExact, kMath>(amax);
  } else {
    Scale scale = {};
    if constexpr (kMath == kFast) {
      scale.stored = multiply<kFast>(amax, kCodeMaxReciprocal<kE4M3>);
      scale.multiplier = approximate_reciprocal(scale.stored);
    } else {
      scale.stored = divide<kPrecise>(amax, kCodeMax<kE4M3>);
      scale.multiplier = divide<kPrecise>(1.0F, scale.stored);
    }
    if (zero_row_guard && scale.stored == 0.0F) {
      scale.multiplier = 0.0F;
    }
    return scale;
  }
}

template <int kIn, int kNumerics, bool kPdl, int kMath, int kElements>
__global__ void __launch_bounds__(1024)
    per_token_quant_rows(const __grid_constant__ TokenQuantParams p) {
  static_assert(kIn == kBF16 || kIn == kF16 || kIn == kF32, "in: bf16, f16 or f32");
  static_assert(kNumerics == kSglang || kNumerics == kExact, "numerics: sglang or exact");
  static_assert(kMath == kPrecise || (kMath == kFast && kNumerics == kSglang), "exact is precise");
  static_assert(kElements == 4 || kElements == 8 || (kElements == 16 && kIn != kF32),
                "4, 8 or, for 16-bit input, 16 elements a vector");
  constexpr bool kFinite = kNumerics == kExact;
  constexpr float kFloor = kFinite ? kAmaxFloor : 0.0F;
  constexpr int kVectorBytes = kElements * kInputBytes<kIn>;
  using Vector = Words<kVectorBytes / 4>;

  const I64 row =
      (static_cast<I64>(blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.y + threadIdx.y;
  const U32 end = row < p.num_tokens ? p.row_vectors : 0;
  const char* from = static_cast<const char*>(p.input) + row * p.input_token_stride;
  char* to = static_cast<char*>(p.output_q) + row * p.q_token_stride;
  float* stored_scale = p.output_s + row;
  const bool aligned32 = (p.flags & kInputAligned32) != 0;
  if ((p.flags & kPrefetchInput) != 0) {
#pragma unroll
    for (U32 i = 0; i < kHeldVectors; ++i) {
      const U32 at = threadIdx.x + i * blockDim.x;
      if (at < end) {
        prefetch_l2(from + static_cast<I64>(at) * kVectorBytes);
      }
    }
  }
  keep(from);
  keep(to);
  keep(stored_scale);
  pdl_wait<kPdl>();

  Vector held[kHeldVectors] = {};
#pragma unroll
  for (U32 i = 0; i < kHeldVectors; ++i) {
    const U32 at = threadIdx.x + i * blockDim.x;
    if (at < end) {
      load_words(from + static_cast<I64>(at) * kVectorBytes, aligned32, held[i]);
    }
  }
  pdl_trigger<kPdl>();
  float amax = kFloor;
#pragma unroll
  for (U32 i = 0; i < kHeldVectors; ++i) {
    amax = thread_amax<kIn, kFinite>(held[i], amax);
  }
#pragma unroll 1
  for (U32 at = threadIdx.x + kHeldVectors * blockDim.x; at < end; at += blockDim.x) {
    Vector more;
    load_words(from + static_cast<I64>(at) * kVectorBytes, aligned32, more);
    amax = thread_amax<kIn, kFinite>(more, amax);
  }
  const Scale scale = row_scale<kNumerics, kMath>(row_max(amax), (p.flags & kZeroRowGuard) != 0);
  if (threadIdx.x == 0 && end != 0) {
    *stored_scale = scale.stored;
  }

  Words<kElements / 4> codes;
#pragma unroll
  for (U32 i = 0; i < kHeldVectors; ++i) {
    const U32 at = threadIdx.x + i * blockDim.x;
    if (at < end) {
      quantize<kIn, kE4M3, false, kNumerics, kMath>(held[i], scale.multiplier, codes);
      store_words(to + static_cast<I64>(at) * kElements, codes);
    }
  }
#pragma unroll 1
  for (U32 at = threadIdx.x + kHeldVectors * blockDim.x; at < end; at += blockDim.x) {
    Vector more;
    load_words(from + static_cast<I64>(at) * kVectorBytes, aligned32, more);
    quantize<kIn, kE4M3, false, kNumerics, kMath>(more, scale.multiplier, codes);
    store_words(to + static_cast<I64>(at) * kElements, codes);
  }
}

}  // namespace quantjit::device

// SPDX-License-Identifier: Apache-2.0
// Compile-time shape of one group kernel, with its constraints.
#pragma once

#include "device/traits.cuh"

// The largest blocks that the geometry asks for, and how many of them a multiprocessor shall hold.
// SiLU is a chain of special functions for each element: with registers for several of them at once
// their latencies overlap, which is worth more than occupancy (the compiler by itself aims at the
// latter; on SM120 that even costs it a spill).
#define QUANTJIT_FLAT_BOUNDS(silu) __launch_bounds__(512, (silu) || __CUDA_ARCH__ >= 1200 ? 2 : 1)
#define QUANTJIT_MASKED_BOUNDS(silu) __launch_bounds__(256, (silu) || __CUDA_ARCH__ >= 1200 ? 4 : 1)

namespace quantjit::device {

template <int kIn_, int kOut_, int kGroup_, int kScale_, int kLayout_, bool kSilu_, int kNumerics_,
          int kFill_, int kMath_, int kElements_>
struct GroupTraits {
  static_assert(kIn_ == kBF16 || kIn_ == kF16 || kIn_ == kF32, "in: bf16, f16 or f32");
  static_assert(kOut_ == kE4M3 || kOut_ == kInt8, "out: e4m3 or int8");
  static_assert(kGroup_ == 16 || kGroup_ == 32 || kGroup_ == 64 || kGroup_ == 128 || kGroup_ == 256,
                "group: 16, 32, 64, 128 or 256");
  static_assert(kScale_ >= kScaleF32 && kScale_ <= kScaleE8M0, "scale: f32, ue8m0, f32_pow2, e8m0");
  static_assert(kLayout_ >= kRow && kLayout_ <= kSwizzle128x4, "layout: row, col, swizzle128x4");
  static_assert(kLayout_ != kSwizzle128x4 || kScale_ == kScaleE8M0, "swizzle128x4 holds e8m0 only");
  static_assert(kNumerics_ >= kSglang && kNumerics_ <= kExact, "numerics out of range");
  static_assert(kFill_ == kFillNone || kNumerics_ == kVllm, "fill=zero belongs to vllm");
  static_assert(kMath_ == kFast || kMath_ == kPrecise, "math: resolved before it comes here");
  static_assert(kMath_ == kPrecise || kNumerics_ < kVllm, "vllm and exact are precise");
  static_assert(kElements_ == 16 || (kElements_ == 32 && kGroup_ >= 32 && kIn_ != kF32),
                "elements a lane: 16, or 32 of 16 bits in groups of at least 32");

  static constexpr int kIn = kIn_;
  static constexpr int kOut = kOut_;
  static constexpr int kScale = kScale_;
  static constexpr bool kSilu = kSilu_;
  static constexpr int kNumerics = kNumerics_;
  static constexpr int kMath = kMath_;
  static constexpr int kElements = kElements_;         // a lane
  static constexpr int kLanes = kGroup_ / kElements_;  // a group
  static constexpr int kWords = kElements * kInputBytes<kIn> / 4;
  static constexpr int kChunkBytes = kElements * kInputBytes<kIn>;
  static constexpr bool kPowerOfTwo = kScale != kScaleF32;
  static constexpr bool kSwizzled = kLayout_ == kSwizzle128x4;
  static constexpr bool kPacked = kScale == kScaleUE8M0 || kSwizzled;  // four bytes to a word
  static constexpr bool kPadRows = kFill_ == kFillZero || kSwizzled;   // rows beyond T are written
};

}  // namespace quantjit::device

// SPDX-License-Identifier: Apache-2.0
// Largest magnitude among one thread's elements. NaN is ignored; infinities count, or with kFinite
// are ignored too.
#pragma once

#include "device/packed.cuh"

namespace quantjit::device {

/// Two 16-bit elements at a time, as numbers.
template <int kIn, int kCount>
QUANTJIT_DEVICE U32 packed_amax(const Words<kCount>& words) {
  U32 largest = words.at[0] & 0x7FFF7FFFU;
#pragma unroll
  for (int i = 1; i < kCount; ++i) {
    largest = packed_max<kIn>(largest, words.at[i] & 0x7FFF7FFFU);
  }
  return largest;
}

/// The same over finite elements: a bias turns infinities and NaN into negative integers.
template <int kIn, int kCount>
QUANTJIT_DEVICE U32 packed_finite_amax(const Words<kCount>& words) {
  constexpr U32 kBias = kIn == kBF16 ? 0x00800080U : 0x04000400U;
  U32 largest = kBias;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    largest = packed_max_signed(largest, (words.at[i] & 0x7FFF7FFFU) + kBias);
  }
  return largest - kBias;
}

/// At least `floor`, never NaN.
template <int kIn, bool kFinite, int kCount>
QUANTJIT_DEVICE float thread_amax(const Words<kCount>& words, float floor) {
  if constexpr (kIn != kF32) {
    U32 pair;
    if constexpr (kFinite) {
      pair = packed_finite_amax<kIn>(words);
    } else {
      pair = packed_amax<kIn>(words);
    }
    float low;
    float high;
    unpack<kIn>(pair, low, high);
    return max_number(max_number(low, high), floor);
  } else if constexpr (kFinite) {
    constexpr U32 kBias = 0x00800000U;
    I32 largest = kBias;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      largest = max(largest, static_cast<I32>((words.at[i] & 0x7FFFFFFFU) + kBias));
    }
    return max_number(as_float(static_cast<U32>(largest) - kBias), floor);
  } else {
    float largest = floor;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      largest = max_number(largest, fabsf(as_float(words.at[i])));
    }
    return largest;
  }
}

}  // namespace quantjit::device

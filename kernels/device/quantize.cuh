// SPDX-License-Identifier: Apache-2.0
// Elements times a multiplier to 8-bit codes. What is not finite follows `numerics`:
//   sglang              e4m3: NaN -> 0x7E (+448)   int8: NaN -> -128, truncated
//   sglang_v2, vllm     e4m3: NaN -> 0xFE (-448)   int8: NaN -> -128, truncated
//   exact               e4m3: NaN -> 0x7F          int8: NaN -> 0, rounded to nearest even
// Everything else saturates in the conversion.
#pragma once

#include "device/convert.cuh"
#include "device/packed.cuh"

namespace quantjit::device {

/// One bound is enough: the conversion saturates, so only NaN has to be turned into a number.
template <int kOut, int kNumerics>
QUANTJIT_DEVICE float replace_nan(float value) {
  if constexpr (kNumerics == kExact) {
    return value;
  } else if constexpr (kOut == kInt8) {
    return max_number(value, -128.0F);
  } else if constexpr (kNumerics == kSglang) {
    return min_number(value, 448.0F);
  } else {
    return max_number(value, -448.0F);
  }
}

/// The same on two bf16.
template <int kOut, int kNumerics>
QUANTJIT_DEVICE U32 replace_nan_bf16(U32 pair) {
  if constexpr (kNumerics == kExact) {
    return pair;
  } else if constexpr (kOut == kInt8) {
    return packed_max<kBF16>(pair, 0xC300C300U);
  } else if constexpr (kNumerics == kSglang) {
    return packed_min<kBF16>(pair, 0x43E043E0U);
  } else {
    return packed_max<kBF16>(pair, 0xC3E0C3E0U);
  }
}

template <int kOut, int kNumerics>
QUANTJIT_DEVICE U32 to_codes(float a, float b, float c, float d) {
  if constexpr (kOut == kE4M3) {
    return to_e4m3(a, b, c, d);
  } else {
    return to_int8<kNumerics != kExact>(a, b, c, d);
  }
}

/// Two elements, multiplied.
template <int kIn, int kOut, int kNumerics, int kMath>
QUANTJIT_DEVICE void scale_pair(float& low, float& high, float multiplier) {
  multiply_pair<kMath>(low, high, multiplier);
  low = replace_nan<kOut, kNumerics>(low);
  high = replace_nan<kOut, kNumerics>(high);
}

/// Codes of all elements of a thread, four to a register. With kPowerOfTwo the product is exact (up
/// to results that give code 0 anyway), so bf16 is multiplied two at a time. NOTE: not where the
/// predecessor multiplies floats and flushes: beside an infinity the multiplier is infinite, and
/// there a subnormal element tells the two apart (NaN against an infinity).
template <int kIn, int kOut, bool kPowerOfTwo, int kNumerics, int kMath, int kCount>
QUANTJIT_DEVICE void quantize(const Words<kCount>& words, float multiplier,
                              Words<(kIn == kF32 ? kCount / 4 : kCount / 2)>& codes) {
  constexpr int kCodes = kIn == kF32 ? kCount / 4 : kCount / 2;
#pragma unroll
  for (int i = 0; i < kCodes; ++i) {
    float a;
    float b;
    float c;
    float d;
    if constexpr (kIn == kBF16 && kPowerOfTwo && !(kNumerics == kSglangV2 && kMath == kFast)) {
      const U32 factor = as_bits(multiplier) | as_bits(multiplier) >> 16;
      const U32 first = packed_multiply<kBF16>(words.at[2 * i], factor);
      const U32 second = packed_multiply<kBF16>(words.at[2 * i + 1], factor);
      unpack<kBF16>(replace_nan_bf16<kOut, kNumerics>(first), a, b);
      unpack<kBF16>(replace_nan_bf16<kOut, kNumerics>(second), c, d);
    } else {
      if constexpr (kIn == kF32) {
        a = as_float(words.at[4 * i]);
        b = as_float(words.at[4 * i + 1]);
        c = as_float(words.at[4 * i + 2]);
        d = as_float(words.at[4 * i + 3]);
      } else {
        unpack<kIn>(words.at[2 * i], a, b);
        unpack<kIn>(words.at[2 * i + 1], c, d);
      }
      scale_pair<kIn, kOut, kNumerics, kMath>(a, b, multiplier);
      scale_pair<kIn, kOut, kNumerics, kMath>(c, d, multiplier);
    }
    codes.at[i] = to_codes<kOut, kNumerics>(a, b, c, d);
  }
}

}  // namespace quantjit::device

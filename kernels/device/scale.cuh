// SPDX-License-Identifier: Apache-2.0
// From the largest magnitude of a group to its scale and multiplier.
#pragma once

#include "device/math.cuh"

namespace quantjit::device {

template <int kOut>
constexpr float kCodeMax = kOut == kE4M3 ? 448.0F : 127.0F;
/// The correctly rounded reciprocal of kCodeMax.
template <int kOut>
constexpr float kCodeMaxReciprocal = kOut == kE4M3 ? 0x1.24924AP-9F : 0x1.020408P-7F;

constexpr float kAmaxFloor = 1e-10F;
constexpr U32 kVllmExponentFloor = 94;  // of a scale floored at 1e-10

struct Scale {
  float multiplier;
  float stored;  // for float scales
  U32 exponent;  // for exponent bytes
};

/// Biased exponent of the least power of two that is not below `value` (positive); 255 for +inf.
QUANTJIT_DEVICE U32 ceil_exponent(float value) {
  return (as_bits(value) + 0x7FFFFFU) >> 23;
}

/// RN(amax / kCodeMax) for normal amax far from the ends: one step of correction makes the product
/// with the rounded reciprocal right (checked over all mantissas).
template <int kOut>
QUANTJIT_DEVICE float divide_by_code_max(float amax) {
  const float product = __fmul_rn(amax, kCodeMaxReciprocal<kOut>);
  const float rest = __fmaf_rn(-product, kCodeMax<kOut>, amax);
  return __fmaf_rn(rest, kCodeMaxReciprocal<kOut>, product);
}

/// amax * fl(1/448) and RN(amax / 448) round up to the same exponent for every mantissa; for 127
/// one mantissa differs, which no 16-bit type has.
template <int kOut, int kNumerics>
QUANTJIT_DEVICE Scale power_of_two_scale(float amax) {
  float raw;
  if constexpr (kNumerics == kExact && kOut == kInt8) {
    raw = divide_by_code_max<kOut>(amax);
  } else {
    raw = __fmul_rn(amax, kCodeMaxReciprocal<kOut>);
  }
  U32 exponent = ceil_exponent(raw);
  if constexpr (kNumerics == kVllm) {
    exponent = max(exponent, kVllmExponentFloor);
  }
  // 2^(127 - exponent); from exponent 255 (an infinity in the group) the shift makes -inf, which
  // the SGLang kernels multiply with. vLLM's inverse is 0 there; with `exact` it cannot come up.
  U32 bits = (254U - exponent) << 23;
  if constexpr (kNumerics == kVllm) {
    bits = exponent == 255U ? 0U : bits;
  }
  return {as_float(bits), as_float(exponent << 23), exponent};
}

/// REQUIRES: amax >= kAmaxFloor, not NaN.
template <int kOut, bool kPowerOfTwo, int kNumerics, int kMath>
QUANTJIT_DEVICE Scale group_scale(float amax) {
  if constexpr (kPowerOfTwo) {
    return power_of_two_scale<kOut, kNumerics>(amax);
  } else {
    float stored;
    if constexpr (kNumerics == kExact) {
      stored = divide_by_code_max<kOut>(amax);
    } else {
      stored = __fmul_rn(amax, kCodeMaxReciprocal<kOut>);
    }
    return {divide<kMath>(kCodeMax<kOut>, amax), stored, 0};
  }
}

}  // namespace quantjit::device

// SPDX-License-Identifier: Apache-2.0
#include "src/reference/quantize.hpp"

#include "src/reference/soft_float.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quantjit::reference {

namespace {

constexpr float kFloor = 1e-10F;
constexpr float kMaxInt8 = 127.0F;
constexpr float kMinInt8 = -128.0F;
constexpr unsigned kInfiniteExponent = 255;

/// Biased exponent of the smallest power of two that is not below `value` (positive, normal).
unsigned ceil_exponent(float value) {
  const std::uint32_t bits = bits_of(value);
  return (bits >> 23U) + ((bits & 0x7FFFFFU) != 0 ? 1U : 0U);
}

/// 2^(127 - exponent), or what a family makes of the exponent of infinity.
float power_multiplier(Numerics numerics, unsigned exponent) {
  if (exponent == kInfiniteExponent) {
    // vLLM divides 1 by 2^128 = inf; the SGLang kernels subtract from 254 and wrap into the sign.
    return numerics == Numerics::kVllm ? 0.0F : -std::numeric_limits<float>::infinity();
  }
  return std::ldexp(1.0F, 127 - static_cast<int>(exponent));
}

std::uint8_t int8_code(Numerics numerics, float scaled) {
  const bool exact = numerics == Numerics::kExact;
  if (std::isnan(scaled)) {
    return static_cast<std::uint8_t>(exact ? std::int8_t{0} : std::int8_t{-128});
  }
  const float clamped = std::min(std::max(scaled, kMinInt8), kMaxInt8);
  const float integer = exact ? std::nearbyint(clamped) : std::trunc(clamped);
  return static_cast<std::uint8_t>(static_cast<std::int8_t>(integer));
}

}  // namespace

float group_maximum(Numerics numerics, std::span<const float> values) {
  float maximum = kFloor;
  for (const float value : values) {
    const float magnitude = std::fabs(value);
    const bool counts = numerics != Numerics::kExact || std::isfinite(magnitude);
    if (counts && magnitude > maximum) {  // false for NaN
      maximum = magnitude;
    }
  }
  return maximum;
}

Scaling group_scaling(const PerTokenGroupQuant& traits, const Arithmetic& arithmetic,
                      float maximum) {
  const bool fp8 = traits.out == DType::kE4M3;
  const float largest = fp8 ? kMaxE4M3 : kMaxInt8;
  const bool sglang =
      traits.numerics == Numerics::kSglang || traits.numerics == Numerics::kSglangV2;
  float scale = 0;
  if (sglang) {
    // Both math modes multiply by the rounded reciprocal of the constant.
    scale = arithmetic.mul(maximum, fp8 ? 1.0F / kMaxE4M3 : 1.0F / kMaxInt8);
  } else {
    scale = maximum / largest;
  }
  if (traits.numerics == Numerics::kVllm) {
    scale = std::max(scale, kFloor);
  }
  Scaling scaling;
  if (traits.scale == ScaleFormat::kF32) {
    scaling.stored = scale;
    scaling.multiplier = arithmetic.div(largest, maximum);
    return scaling;
  }
  const unsigned exponent = ceil_exponent(scale);
  scaling.exponent = static_cast<std::uint8_t>(exponent);
  scaling.stored = float_from_bits(exponent << 23U);
  scaling.multiplier = power_multiplier(traits.numerics, exponent);
  return scaling;
}

std::uint8_t quantized_code(Numerics numerics, DType out, float scaled) {
  if (out == DType::kInt8) {
    return int8_code(numerics, scaled);
  }
  if (std::isnan(scaled)) {
    switch (numerics) {
      case Numerics::kSglang: return kMaxCodeE4M3;
      case Numerics::kSglangV2:
      case Numerics::kVllm: return 0x80 | kMaxCodeE4M3;
      case Numerics::kExact: return kNanCodeE4M3;
    }
  }
  return to_e4m3(scaled);
}

}  // namespace quantjit::reference

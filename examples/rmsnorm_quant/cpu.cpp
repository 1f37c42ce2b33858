// SPDX-License-Identifier: Apache-2.0
#include "cpu.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <utility>

namespace engine {
namespace {

constexpr std::size_t kElements = 8;
constexpr std::size_t kWarp = 32;

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

/// Nearest e4m3, ties to even, saturating. The input is finite.
std::uint8_t to_e4m3(float value) {
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 0x80U : 0U);
  const float magnitude = std::fabs(value);
  constexpr float kMax = 448.0F;
  constexpr int kLowestExponent = -6;
  constexpr int kFractionBits = 3;
  if (magnitude >= kMax) {
    return sign | 0x7EU;
  }
  if (magnitude == 0.0F) {
    return sign;
  }
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, kLowestExponent);
  // Exact: a power of two times a float. nearbyint() rounds ties to even.
  const float steps = std::nearbyint(std::ldexp(magnitude, kFractionBits - exponent));
  const auto code = static_cast<int>(steps) + (exponent - kLowestExponent) * (1 << kFractionBits);
  return static_cast<std::uint8_t>(sign | static_cast<unsigned>(code));
}

/// The kernel's sum over a block: threads by themselves, lanes by halving distances, warps in
/// order.
float block_sum(std::vector<float> partial) {
  for (std::size_t distance = kWarp / 2; distance > 0; distance /= 2) {
    const std::vector<float> before = partial;
    for (std::size_t thread = 0; thread < partial.size(); ++thread) {
      partial[thread] = before[thread] + before[thread ^ distance];
    }
  }
  float sum = partial[0];
  for (std::size_t warp = kWarp; warp < partial.size(); warp += kWarp) {
    sum += partial[warp];
  }
  return sum;
}

}  // namespace

Quantized rmsnorm_quant_on_cpu(const std::vector<std::uint16_t>& input,
                               const std::vector<std::uint16_t>& weight, unsigned threads,
                               float epsilon) {
  const std::size_t hidden = weight.size();
  Quantized result;
  for (std::size_t first = 0; first < input.size(); first += hidden) {
    std::vector<float> squares(threads, 0.0F);
    for (std::size_t i = 0; i < hidden; ++i) {
      const float x = from_bf16(input[first + i]);
      squares[i / kElements % threads] += x * x;
    }
    const float mean = block_sum(std::move(squares)) / static_cast<float>(hidden);
    const float factor = 1.0F / std::sqrt(mean + epsilon);
    std::vector<float> y(hidden);
    float largest = 0.0F;
    for (std::size_t i = 0; i < hidden; ++i) {
      y[i] = from_bf16(input[first + i]) * factor * from_bf16(weight[i]);
      largest = std::max(largest, std::fabs(y[i]));
    }
    const float scale = largest / 448.0F;
    result.s.push_back(scale);
    for (const float value : y) {
      result.q.push_back(to_e4m3(value / (scale == 0.0F ? 1.0F : scale)));
    }
  }
  return result;
}

}  // namespace engine

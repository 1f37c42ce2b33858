// SPDX-License-Identifier: Apache-2.0
// What rmsnorm_quant computes, on the CPU, with the kernel's roundings and order of sums.
#pragma once

#include <cstdint>
#include <vector>

namespace engine {

struct Quantized {
  std::vector<std::uint8_t> q;
  std::vector<float> s;
};

/// @param input [rows, hidden] bf16 bits  @param weight [hidden] bf16 bits
/// @param threads of the block: they decide the order of the sums
Quantized rmsnorm_quant_on_cpu(const std::vector<std::uint16_t>& input,
                               const std::vector<std::uint16_t>& weight, unsigned threads,
                               float epsilon);

}  // namespace engine

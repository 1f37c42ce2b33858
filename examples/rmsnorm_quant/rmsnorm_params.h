// SPDX-License-Identifier: Apache-2.0
// Parameters of rmsnorm_quant, for the kernel and for the engine.
#pragma once

namespace engine {

struct RmsNormParams {
  const void* input;   // [rows, hidden], bf16 or f16
  const void* weight;  // [hidden], of the input's type
  void* output_q;      // [rows, hidden], e4m3
  float* output_s;     // [rows]
  unsigned hidden;     // a multiple of 8
  float epsilon;
};

static_assert(sizeof(RmsNormParams) == 40, "the same on both sides");

}  // namespace engine

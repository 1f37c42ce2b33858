// SPDX-License-Identifier: Apache-2.0
// per_token_quant, element by element.
#include "src/reference/arithmetic.hpp"
#include "src/reference/operands.hpp"
#include "src/reference/quantize.hpp"

#include <quantjit/reference.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace quantjit::reference {

namespace {

/// The original gives a row to a warp, which guards against a zero scale, from this many tokens a
/// multiprocessor on, and to a thread block, which does not, below.
constexpr std::int64_t kWarpPathTokensPerSm = 16;

void check_operands(const PerTokenQuant& traits, const TensorView& input, const TensorView& q,
                    const TensorView& s) {
  require_tensor("input", input, traits.in, 2);
  require_tensor("output_q", q, traits.out, 2);
  require_tensor("output_s", s, DType::kF32, s.ndim == 2 ? 2 : 1);
  const std::int64_t tokens = input.size(0);
  const std::int64_t hidden = input.size(1);
  if (hidden <= 0 || hidden % 4 != 0) {
    refuse("input.shape[1]", std::to_string(hidden), "it must be positive and divisible by 4");
  }
  require_size("output_q", q, 1, hidden);
  if (q.size(0) < tokens) {
    refuse("output_q.shape[0]", std::to_string(q.size(0)),
           "it must be at least the input's " + std::to_string(tokens));
  }
  if (s.size(0) < tokens) {
    refuse("output_s.shape[0]", std::to_string(s.size(0)),
           "it must be at least the input's " + std::to_string(tokens));
  }
  if (s.ndim == 2) {
    require_size("output_s", s, 1, 1);
  }
  require_unit_stride("input", input, 1);
  require_unit_stride("output_q", q, 1);
}

struct RowScaling {
  float stored = 0;
  float multiplier = 0;
};

/// Scale and multiplier of one row as the original computes them: no floor, and a reciprocal of the
/// scale that is infinite for a zero scale unless `guard_zero`.
RowScaling sglang_scaling(const std::vector<float>& row, const Arithmetic& arithmetic, bool fast,
                          bool guard_zero) {
  float maximum = 0;
  for (const float value : row) {
    const float magnitude = arithmetic.flush(std::fabs(value));
    maximum = magnitude > maximum ? magnitude : maximum;  // NaN is never greater
  }
  RowScaling scaling;
  scaling.stored = fast ? arithmetic.mul(maximum, 1.0F / kMaxE4M3) : maximum / kMaxE4M3;
  if (scaling.stored == 0.0F && guard_zero) {
    scaling.multiplier = 0.0F;
  } else {
    scaling.multiplier = fast ? rcp_approx_ftz(scaling.stored) : 1.0F / scaling.stored;
  }
  return scaling;
}

RowScaling exact_scaling(const std::vector<float>& row) {
  const float maximum = group_maximum(Numerics::kExact, row);
  return {maximum / kMaxE4M3, kMaxE4M3 / maximum};
}

}  // namespace

void per_token_quant(const PerTokenQuant& traits, const Target& target, const TensorView& input,
                     const TensorView& output_q, const TensorView& output_s) {
  validate(traits);
  const MathMode math = resolve_math({traits, MathMode::kAuto}, target.arch, target.math);
  check_operands(traits, input, output_q, output_s);
  const Arithmetic arithmetic(math);
  const bool guard_zero = traits.zero_rows == ZeroRows::kZero ||
                          input.size(0) >= kWarpPathTokensPerSm * target.sm_count;
  std::vector<float> row(static_cast<std::size_t>(input.size(1)));
  for (std::int64_t token = 0; token < input.size(0); ++token) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = load_value(input, token * input.stride(0) + static_cast<std::int64_t>(i));
    }
    const RowScaling scaling =
        traits.numerics == Numerics::kExact
            ? exact_scaling(row)
            : sglang_scaling(row, arithmetic, math == MathMode::kFast, guard_zero);
    std::memcpy(element_at(output_s, token * output_s.stride(0)), &scaling.stored,
                sizeof scaling.stored);
    std::byte* codes = element_at(output_q, token * output_q.stride(0));
    for (std::size_t i = 0; i < row.size(); ++i) {
      const float scaled = arithmetic.mul(row[i], scaling.multiplier);
      codes[i] = std::byte{quantized_code(traits.numerics, traits.out, scaled)};
    }
  }
}

}  // namespace quantjit::reference

// SPDX-License-Identifier: Apache-2.0
// per_token_group_quant, element by element.
#include "src/reference/operands.hpp"
#include "src/reference/quantize.hpp"
#include "src/reference/scale_store.hpp"
#include "src/reference/silu.hpp"

#include <quantjit/reference.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

namespace quantjit::reference {

namespace {

/// Sizes of one call. A flat schedule has one expert.
struct Sizes {
  std::int64_t experts = 1;
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;  ///< output columns
  std::int64_t groups = 0;
};

Sizes check_operands(const PerTokenGroupQuant& traits, const GroupQuantOperands& operands) {
  const bool masked = traits.schedule == Schedule::kMasked;
  const int ndim = masked ? 3 : 2;
  const TensorView& q = operands.output_q;
  require_tensor("input", operands.input, traits.in, ndim);
  require_tensor("output_q", q, traits.out, ndim);
  Sizes sizes;
  sizes.tokens = operands.input.size(-2);
  sizes.hidden = q.size(-1);
  sizes.groups = sizes.hidden / traits.group;
  if (sizes.hidden % traits.group != 0) {
    refuse("output_q.shape[" + std::to_string(ndim - 1) + "]", std::to_string(sizes.hidden),
           "it must be a multiple of group=" + std::to_string(traits.group));
  }
  require_size("input", operands.input, -1, sizes.hidden * (traits.silu ? 2 : 1));
  if (q.size(-2) < sizes.tokens) {
    refuse("output_q.shape[" + std::to_string(ndim - 2) + "]", std::to_string(q.size(-2)),
           "it must be at least the input's " + std::to_string(sizes.tokens));
  }
  require_unit_stride("input", operands.input, ndim - 1);
  require_unit_stride("output_q", q, ndim - 1);
  const TensorView& mask = operands.masked_m;
  if (masked) {
    sizes.experts = operands.input.size(0);
    require_size("output_q", q, 0, sizes.experts);
    require_tensor("masked_m", mask, mask.dtype == DType::kInt64 ? DType::kInt64 : DType::kInt32,
                   1);
    require_size("masked_m", mask, 0, sizes.experts);
    require_unit_stride("masked_m", mask, 0);
  } else if (mask.ndim != 0) {
    refuse("masked_m.ndim", std::to_string(mask.ndim), "schedule=flat takes no masked_m");
  }
  return sizes;
}

/// Live rows of an expert: all of them, or masked_m clamped to [0, tokens].
std::int64_t live_tokens(const TensorView& mask, const Sizes& sizes, std::int64_t expert) {
  if (mask.ndim == 0) {
    return sizes.tokens;
  }
  std::int64_t count = 0;
  if (mask.dtype == DType::kInt64) {
    std::memcpy(&count, element_at(mask, expert), sizeof count);
  } else {
    std::int32_t narrow = 0;
    std::memcpy(&narrow, element_at(mask, expert), sizeof narrow);
    count = narrow;
  }
  return std::clamp<std::int64_t>(count, 0, sizes.tokens);
}

/// Offset of row `token` of `expert` in elements.
std::int64_t row_offset(const TensorView& tensor, std::int64_t expert, std::int64_t token) {
  const std::int64_t expert_stride = tensor.ndim == 3 ? tensor.stride(0) : 0;
  return expert * expert_stride + token * tensor.stride(-2);
}

/// fill=zero: the rows of q up to the next multiple of four, as far as q has them.
void zero_pad_rows(const TensorView& q, const Sizes& sizes) {
  const std::int64_t end = std::min((sizes.tokens + 3) / 4 * 4, q.size(-2));
  for (std::int64_t row = sizes.tokens; row < end; ++row) {
    std::memset(element_at(q, row_offset(q, 0, row)), 0, static_cast<std::size_t>(sizes.hidden));
  }
}

/// Quantizes one row after the other.
class RowQuantizer {
 public:
  RowQuantizer(const PerTokenGroupQuant& traits, const Arch& arch, MathMode math,
               const GroupQuantOperands& operands, const Sizes& sizes)
      : traits_(traits),
        operands_(operands),
        sizes_(sizes),
        arithmetic_(math),
        silu_(traits.numerics, traits.in, arch, math),
        scales_(traits, operands.output_s, sizes.experts, sizes.tokens, sizes.groups),
        unflushed_product_(traits.numerics == Numerics::kSglang && traits.in != DType::kF32 &&
                           traits.scale != ScaleFormat::kF32),
        values_(traits.group) {}

  void quantize_row(std::int64_t expert, std::int64_t token) {
    const std::int64_t input_row = row_offset(operands_.input, expert, token);
    const std::int64_t output_row = row_offset(operands_.output_q, expert, token);
    for (std::int64_t group = 0; group < sizes_.groups; ++group) {
      const std::int64_t column = group * traits_.group;
      load_group(input_row + column);
      const float maximum = group_maximum(traits_.numerics, values_);
      const Scaling scaling = group_scaling(traits_, arithmetic_, maximum);
      scales_.put(expert, token, group, scaling);
      std::byte* codes = element_at(operands_.output_q, output_row + column);
      for (std::size_t i = 0; i < values_.size(); ++i) {
        const float scaled = product(values_[i], scaling.multiplier);
        codes[i] = std::byte{quantized_code(traits_.numerics, traits_.out, scaled)};
      }
    }
    scales_.finish_token(expert, token);
  }

  [[nodiscard]] const ScaleStore& scales() const { return scales_; }

 private:
  [[nodiscard]] float product(float value, float multiplier) const {
    // NOTE: sglang multiplies 16-bit values by a power of two in their own type, where nothing is
    // flushed. The product in f32 is the same wherever a code can tell, and for f16 with a
    // multiplier beyond its range it is what the contract asks for.
    return unflushed_product_ ? value * multiplier : arithmetic_.mul(value, multiplier);
  }

  void load_group(std::int64_t offset) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::int64_t at = offset + static_cast<std::int64_t>(i);
      values_[i] = traits_.silu ? silu_(load_bits(operands_.input, at),
                                        load_bits(operands_.input, at + sizes_.hidden))
                                : load_value(operands_.input, at);
    }
  }

  const PerTokenGroupQuant& traits_;
  const GroupQuantOperands& operands_;
  Sizes sizes_;
  Arithmetic arithmetic_;
  SiluAndMul silu_;
  ScaleStore scales_;
  bool unflushed_product_;
  std::vector<float> values_;
};

}  // namespace

void per_token_group_quant(const PerTokenGroupQuant& traits, const Target& target,
                           const GroupQuantOperands& operands) {
  validate(traits);
  const MathMode math = resolve_math({traits, MathMode::kAuto}, target.arch, target.math);
  const Sizes sizes = check_operands(traits, operands);
  RowQuantizer quantizer(traits, target.arch, math, operands, sizes);
  if (sizes.groups == 0 || sizes.tokens == 0) {
    return;
  }
  for (std::int64_t expert = 0; expert < sizes.experts; ++expert) {
    const std::int64_t live = live_tokens(operands.masked_m, sizes, expert);
    for (std::int64_t token = 0; token < live; ++token) {
      quantizer.quantize_row(expert, token);
    }
    quantizer.scales().finish_expert(expert, live);
  }
  if (traits.fill == Fill::kZero) {
    quantizer.scales().zero_pad_words();
    zero_pad_rows(operands.output_q, sizes);
  }
}

}  // namespace quantjit::reference

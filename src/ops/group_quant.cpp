// SPDX-License-Identifier: Apache-2.0
#include "src/ops/geometry.hpp"
#include "src/ops/launch.hpp"
#include "src/ops/scale_shape.hpp"
#include "src/ops/tensor_check.hpp"

#include <quantjit/error.hpp>
#include <quantjit/ops.hpp>

#include <bit>
#include <string>

namespace quantjit {
namespace {

using namespace ops;

/// What the tensors say about the problem.
struct Sizes {
  std::int64_t num_experts = 1;
  std::int64_t num_tokens = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_groups = 0;
};

Sizes check_input(const PerTokenGroupQuant& traits, const NamedTensor& input, ByteRange& range) {
  const bool masked = traits.schedule == Schedule::kMasked;
  range = require_shape(input, masked ? 3 : 2);
  require_dtype(input, traits.in);
  const std::int64_t columns = input.view.size(-1);
  if (traits.silu && columns % 2 != 0) [[unlikely]] {
    refuse(input.name, masked ? "shape[2]" : "shape[1]", columns,
           "with silu=true it holds the gate and the up half");
  }
  Sizes sizes{.num_experts = masked ? input.view.size(0) : 1,
              .num_tokens = input.view.size(-2),
              .hidden_size = traits.silu ? columns / 2 : columns};
  // Groups are powers of two, so no division is needed on the way to a launch.
  sizes.num_groups = sizes.hidden_size >> std::countr_zero(traits.group);
  if ((sizes.hidden_size & (traits.group - 1)) != 0) [[unlikely]] {
    refuse(input.name, masked ? "shape[2]" : "shape[1]", columns,
           "the hidden size (" + std::to_string(sizes.hidden_size) +
               ") must be a multiple of the group (" + std::to_string(traits.group) + ")");
  }
  require_aligned_rows(input, 16);
  return sizes;
}

ByteRange check_output_q(const PerTokenGroupQuant& traits, const NamedTensor& q,
                         const Sizes& sizes) {
  const bool masked = traits.schedule == Schedule::kMasked;
  const ByteRange range = require_shape(q, masked ? 3 : 2);
  require_dtype(q, traits.out);
  if (masked) {
    require_equal(q.name, "shape[0]", q.view.size(0), sizes.num_experts);
  }
  require_equal(q.name, masked ? "shape[2]" : "shape[1]", q.view.size(-1), sizes.hidden_size);
  if (q.view.size(-2) < sizes.num_tokens) [[unlikely]] {
    refuse(q.name, masked ? "shape[1]" : "shape[0]", q.view.size(-2),
           "it must have at least the input's " + std::to_string(sizes.num_tokens) + " rows");
  }
  require_aligned_rows(q, 16);
  require_no_self_overlap(q);
  return range;
}

ByteRange check_swizzled_scales(const NamedTensor& s, const Sizes& sizes, bool masked) {
  const ByteRange range = require_shape(s, masked ? 2 : 1);
  require_equal(s.name, masked ? "shape[1]" : "shape[0]", s.view.size(-1),
                swizzled_bytes(sizes.num_tokens, sizes.num_groups));
  require_aligned_rows(s, 16);
  return range;
}

ByteRange check_output_s(const PerTokenGroupQuant& traits, const NamedTensor& s,
                         const Sizes& sizes) {
  const bool masked = traits.schedule == Schedule::kMasked;
  require_dtype(s, scale_dtype(traits.scale));
  ByteRange range;
  if (traits.layout == ScaleLayout::kSwizzle128x4) {
    range = check_swizzled_scales(s, sizes, masked);
  } else {
    range = require_shape(s, masked ? 3 : 2);
    require_equal(s.name, masked ? "shape[1]" : "shape[0]", s.view.size(-2), sizes.num_tokens);
    require_equal(s.name, masked ? "shape[2]" : "shape[1]", s.view.size(-1),
                  scale_columns(traits.scale, sizes.num_groups));
    const int unit = traits.layout == ScaleLayout::kRow ? -1 : -2;
    if (s.view.size(unit) > 1 && s.view.stride(unit) != 1) [[unlikely]] {
      refuse(s.name, unit == -1 ? "strides[-1]" : "strides[-2]", s.view.stride(unit),
             unit == -1 ? "layout=row needs groups side by side, so it must be 1"
                        : "layout=col needs tokens side by side, so it must be 1");
    }
    const auto address = reinterpret_cast<std::uint64_t>(s.view.data);
    if (address % size_in_bytes(s.view.dtype) != 0) [[unlikely]] {
      refuse(s.name, "data", static_cast<std::int64_t>(address),
             "scales must be aligned to their own size");
    }
    if (traits.fill == Fill::kZero) {
      const std::int64_t padded = ceil_div(sizes.num_tokens, 4) * 4;
      require_equal(s.name, "strides[1]", s.view.stride(-1), padded);
      require_equal(s.name, "strides[0]", s.view.stride(-2), 1);
    }
  }
  if (masked) {
    require_equal(s.name, "shape[0]", s.view.size(0), sizes.num_experts);
  }
  require_no_self_overlap(s);
  return range;
}

ByteRange check_masked_m(const PerTokenGroupQuant& traits, const NamedTensor& mask,
                         const Sizes& sizes) {
  if (traits.schedule == Schedule::kFlat) {
    if (mask.view.ndim != 0) [[unlikely]] {
      refuse(mask.name, "ndim", mask.view.ndim, "schedule=flat takes no masked_m");
    }
    return {};
  }
  const ByteRange range = require_shape(mask, 1);
  if (mask.view.dtype != DType::kInt32 && mask.view.dtype != DType::kInt64) [[unlikely]] {
    refuse(mask.name, "dtype", to_string(mask.view.dtype), "it must be int32 or int64");
  }
  require_equal(mask.name, "shape[0]", mask.view.size(0), sizes.num_experts);
  if (sizes.num_experts > 1) {
    require_equal(mask.name, "strides[0]", mask.view.stride(0), 1);
  }
  const auto address = reinterpret_cast<std::uint64_t>(mask.view.data);
  if (address % size_in_bytes(mask.view.dtype) != 0) [[unlikely]] {
    refuse(mask.name, "data", static_cast<std::int64_t>(address),
           "the address must be aligned to the element size");
  }
  return range;
}

Sizes check(const PerTokenGroupQuant& traits, const GroupQuantArgs& args) {
  const NamedTensor input{args.input, "input"};
  const NamedTensor q{args.output_q, "output_q"};
  const NamedTensor s{args.output_s, "output_s"};
  const NamedTensor mask{args.masked_m, "masked_m"};
  ByteRange input_range;
  const Sizes sizes = check_input(traits, input, input_range);
  const ByteRange q_range = check_output_q(traits, q, sizes);
  const ByteRange s_range = check_output_s(traits, s, sizes);
  const ByteRange mask_range = check_masked_m(traits, mask, sizes);
  require_disjoint(q, q_range, input, input_range);
  require_disjoint(s, s_range, input, input_range);
  require_disjoint(q, q_range, s, s_range);
  require_disjoint(q, q_range, mask, mask_range);
  require_disjoint(s, s_range, mask, mask_range);
  return sizes;
}

GroupQuantProblem to_problem(const PerTokenGroupQuant& traits, const GroupQuantArgs& args,
                             const Sizes& sizes) {
  const bool masked = traits.schedule == Schedule::kMasked;
  const bool swizzled = traits.layout == ScaleLayout::kSwizzle128x4;
  return {.input = args.input.data,
          .output_q = args.output_q.data,
          .output_s = args.output_s.data,
          .masked_m = masked ? args.masked_m.data : nullptr,
          .masked_m_is_int64 = masked && args.masked_m.dtype == DType::kInt64,
          .num_experts = sizes.num_experts,
          .num_tokens = sizes.num_tokens,
          .hidden_size = sizes.hidden_size,
          .q_rows = args.output_q.size(-2),
          .expected_m = args.expected_m,
          .input_token_stride = args.input.stride(-2),
          .input_expert_stride = masked ? args.input.stride(0) : 0,
          .q_token_stride = args.output_q.stride(-2),
          .q_expert_stride = masked ? args.output_q.stride(0) : 0,
          .s_token_stride = swizzled ? 0 : args.output_s.stride(-2),
          .s_group_stride = swizzled ? 0 : args.output_s.stride(-1),
          .s_expert_stride = masked ? args.output_s.stride(0) : 0};
}

}  // namespace

void per_token_group_quant(const Kernel& kernel, const GroupQuantArgs& args, Stream stream) {
  const detail::LoadedKernel& loaded = require_loaded(kernel);
  const auto* const traits = std::get_if<PerTokenGroupQuant>(&loaded.traits);
  if (traits == nullptr) [[unlikely]] {
    refuse_operation(loaded, "per_token_group_quant");
  }
  require_device(loaded, stream, NamedTensor{args.input, "input"},
                 NamedTensor{args.output_q, "output_q"}, NamedTensor{args.output_s, "output_s"},
                 NamedTensor{args.masked_m, "masked_m"});
  const Sizes sizes = check(*traits, args);
  if (sizes.num_experts == 0 || sizes.num_tokens == 0 || sizes.num_groups == 0) {
    return;
  }
  const GroupQuantLaunch launch = plan(*traits, to_problem(*traits, args, sizes), facts_of(loaded));
  if (launch.shape.empty) {
    return;
  }
  launch_entry(loaded, launch.shape, &launch.params, stream);
}

void per_token_group_quant(KernelService& service, const Descriptor& descriptor,
                           const GroupQuantArgs& args, Stream stream) {
  per_token_group_quant(service.get(descriptor, args.input.device, stream), args, stream);
}

}  // namespace quantjit

// SPDX-License-Identifier: Apache-2.0
#include "src/ops/geometry.hpp"
#include "src/ops/launch.hpp"
#include "src/ops/tensor_check.hpp"

#include <quantjit/error.hpp>
#include <quantjit/ops.hpp>

#include <string>

namespace quantjit {
namespace {

using namespace ops;

void require_contiguous(const NamedTensor& tensor) {
  const TensorView& view = tensor.view;
  std::int64_t expected = 1;
  for (int i = view.ndim - 1; i >= 0; --i) {
    if (view.size(i) > 1 && view.stride(i) != expected) [[unlikely]] {
      refuse(tensor.name, i == 0 ? "strides[0]" : "strides[1]", view.stride(i),
             "it must be contiguous, so it must be " + std::to_string(expected));
    }
    expected *= view.size(i);
  }
}

void require_address(const NamedTensor& tensor, std::uint64_t alignment) {
  const auto address = reinterpret_cast<std::uint64_t>(tensor.view.data);
  if (address % alignment != 0) [[unlikely]] {
    refuse(tensor.name, "data", static_cast<std::int64_t>(address),
           "the address must be a multiple of " + std::to_string(alignment) + " bytes");
  }
}

ByteRange check_scales(const NamedTensor& s, std::int64_t num_tokens) {
  if (s.view.ndim != 1 && s.view.ndim != 2) [[unlikely]] {
    refuse(s.name, "ndim", s.view.ndim, "it must be [rows] or [rows, 1]");
  }
  const ByteRange range = require_shape(s, s.view.ndim);
  require_dtype(s, DType::kF32);
  if (s.view.ndim == 2) {
    require_equal(s.name, "shape[1]", s.view.size(1), 1);
  }
  if (s.view.size(0) < num_tokens) [[unlikely]] {
    refuse(s.name, "shape[0]", s.view.size(0),
           "it must have at least the input's " + std::to_string(num_tokens) + " rows");
  }
  require_contiguous(s);
  require_address(s, sizeof(float));
  return range;
}

void check(const PerTokenQuant& traits, const TokenQuantArgs& args) {
  const NamedTensor input{args.input, "input"};
  const NamedTensor q{args.output_q, "output_q"};
  const NamedTensor s{args.output_s, "output_s"};
  const ByteRange input_range = require_shape(input, 2);
  require_dtype(input, traits.in);
  const std::int64_t num_tokens = input.view.size(0);
  const std::int64_t hidden = input.view.size(1);
  if (num_tokens == 0) [[unlikely]] {
    refuse("input", "shape[0]", num_tokens, "num_tokens must be positive");
  }
  if (hidden == 0 || hidden % 4 != 0) [[unlikely]] {
    refuse("input", "shape[1]", hidden, "the hidden size must be positive and divisible by 4");
  }
  require_contiguous(input);
  const ByteRange q_range = require_shape(q, 2);
  require_dtype(q, traits.out);
  require_equal("output_q", "shape[1]", q.view.size(1), hidden);
  if (q.view.size(0) < num_tokens) [[unlikely]] {
    refuse("output_q", "shape[0]", q.view.size(0),
           "it must have at least the input's " + std::to_string(num_tokens) + " rows");
  }
  require_contiguous(q);
  // A vector of 8 16-bit elements (4 floats) is 16 bytes; rows that only divide into fours take
  // 8-byte vectors.
  const bool wide = traits.in == DType::kF32 || hidden % 8 == 0;
  require_address(input, wide ? 16 : 8);
  require_address(q, traits.in == DType::kF32 || hidden % 8 != 0 ? 4 : 8);
  const ByteRange s_range = check_scales(s, num_tokens);
  require_disjoint(q, q_range, input, input_range);
  require_disjoint(s, s_range, input, input_range);
  require_disjoint(q, q_range, s, s_range);
}

}  // namespace

void per_token_quant(const Kernel& kernel, const TokenQuantArgs& args, Stream stream) {
  const detail::LoadedKernel& loaded = require_loaded(kernel);
  const auto* const traits = std::get_if<PerTokenQuant>(&loaded.traits);
  if (traits == nullptr) [[unlikely]] {
    refuse_operation(loaded, "per_token_quant");
  }
  require_device(loaded, stream, NamedTensor{args.input, "input"},
                 NamedTensor{args.output_q, "output_q"}, NamedTensor{args.output_s, "output_s"});
  check(*traits, args);
  const std::int64_t hidden = args.input.size(1);
  const TokenQuantLaunch launch = plan(*traits,
                                       {.input = args.input.data,
                                        .output_q = args.output_q.data,
                                        .output_s = static_cast<float*>(args.output_s.data),
                                        .num_tokens = args.input.size(0),
                                        .hidden_size = hidden,
                                        .input_token_stride = hidden,
                                        .q_token_stride = hidden},
                                       facts_of(loaded));
  launch_entry(loaded, launch.shape, &launch.params, stream);
}

void per_token_quant(KernelService& service, const Descriptor& descriptor,
                     const TokenQuantArgs& args, Stream stream) {
  per_token_quant(service.get(descriptor, args.input.device, stream), args, stream);
}

}  // namespace quantjit

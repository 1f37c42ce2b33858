// SPDX-License-Identifier: Apache-2.0
// Outputs that do not exist yet: their shapes, and device memory for them.
#include "src/driver/device.hpp"
#include "src/driver/stream_memory.hpp"
#include "src/ops/scale_shape.hpp"
#include "src/ops/tensor_check.hpp"
#include "src/service/body.hpp"

#include <quantjit/error.hpp>
#include <quantjit/ops.hpp>

#include <initializer_list>
#include <utility>

namespace quantjit {
namespace {

using ops::ceil_div;

/// Spec with dimensions as given; strides in elements.
TensorSpec make_spec(DType dtype, std::initializer_list<std::int64_t> shape,
                     std::initializer_list<std::int64_t> strides, std::int64_t storage_elements) {
  TensorSpec spec{.dtype = dtype,
                  .ndim = static_cast<std::uint8_t>(shape.size()),
                  .storage_elements = storage_elements};
  std::copy(shape.begin(), shape.end(), spec.shape.begin());
  std::copy(strides.begin(), strides.end(), spec.strides.begin());
  return spec;
}

TensorSpec contiguous_spec(DType dtype, bool with_experts, std::int64_t experts, std::int64_t rows,
                           std::int64_t columns) {
  return with_experts ? make_spec(dtype, {experts, rows, columns}, {rows * columns, columns, 1},
                                  experts * rows * columns)
                      : make_spec(dtype, {rows, columns}, {columns, 1}, rows * columns);
}

TensorSpec scale_spec(const PerTokenGroupQuant& traits, bool masked, std::int64_t experts,
                      std::int64_t num_tokens, std::int64_t num_groups) {
  const DType dtype = ops::scale_dtype(traits.scale);
  if (traits.layout == ScaleLayout::kSwizzle128x4) {
    const std::int64_t bytes = ops::swizzled_bytes(num_tokens, num_groups);
    return masked ? make_spec(dtype, {experts, bytes}, {bytes, 1}, experts * bytes)
                  : make_spec(dtype, {bytes}, {1}, bytes);
  }
  const std::int64_t columns = ops::scale_columns(traits.scale, num_groups);
  if (traits.layout == ScaleLayout::kRow) {
    return contiguous_spec(dtype, masked, experts, num_tokens, columns);
  }
  const std::int64_t padded =
      ceil_div(num_tokens, 4) * 4;  // 16 bytes of 4-byte scales: what TMA needs of a stride
  return masked ? make_spec(dtype, {experts, num_tokens, columns}, {columns * padded, 1, padded},
                            experts * columns * padded)
                : make_spec(dtype, {num_tokens, columns}, {1, padded}, columns * padded);
}

OutputSpecs group_specs(const PerTokenGroupQuant& traits, const TensorView& input) {
  const bool masked = traits.schedule == Schedule::kMasked;
  const ops::NamedTensor named{input, "input"};
  ops::require_shape(named, masked ? 3 : 2, ops::Memory::kNotNeeded);
  ops::require_dtype(named, traits.in);
  const std::int64_t factor = traits.silu ? 2 : 1;
  const std::int64_t columns = input.size(-1);
  if (columns % (factor * traits.group) != 0) {
    ops::refuse("input", masked ? "shape[2]" : "shape[1]", columns,
                "it must be a multiple of " + std::to_string(factor * traits.group));
  }
  const std::int64_t hidden = columns / factor;
  const std::int64_t experts = masked ? input.size(0) : 1;
  const std::int64_t num_tokens = input.size(-2);
  return {contiguous_spec(traits.out, masked, experts, num_tokens, hidden),
          scale_spec(traits, masked, experts, num_tokens, hidden / traits.group)};
}

OutputSpecs token_specs(const PerTokenQuant& traits, const TensorView& input) {
  const ops::NamedTensor named{input, "input"};
  ops::require_shape(named, 2, ops::Memory::kNotNeeded);
  ops::require_dtype(named, traits.in);
  return {contiguous_spec(traits.out, false, 1, input.size(0), input.size(1)),
          contiguous_spec(DType::kF32, false, 1, input.size(0), 1)};
}

driver::StreamMemory allocate(const driver::DriverApi& api, const TensorSpec& spec, int device,
                              Stream stream) {
  driver::require_stream_on(api, stream, device, "the tensor is to be");
  return {api, device, spec.storage_bytes(), stream};
}

}  // namespace

TensorView TensorSpec::over(void* data, std::int32_t device) const {
  return {.data = data,
          .dtype = dtype,
          .ndim = ndim,
          .device = device,
          .shape = shape,
          .strides = strides};
}

OutputSpecs output_specs(const Traits& traits, const TensorView& input) {
  validate(traits);
  if (const auto* const group = std::get_if<PerTokenGroupQuant>(&traits)) {
    return group_specs(*group, input);
  }
  if (const auto* const token = std::get_if<PerTokenQuant>(&traits)) {
    return token_specs(*token, input);
  }
  throw InvalidArgument("traits", to_text(traits),
                        "the outputs of a registered operation are its caller's");
}

ScaleLayout infer_scale_layout(const TensorView& output_s) {
  if (output_s.ndim < 2) {
    ops::refuse("output_s", "ndim", output_s.ndim, "a layout needs at least two dimensions");
  }
  return output_s.stride(-2) >= output_s.stride(-1) ? ScaleLayout::kRow : ScaleLayout::kCol;
}

struct DeviceTensor::Owner {
  driver::StreamMemory memory;
};

DeviceTensor::DeviceTensor(KernelService& service, const TensorSpec& spec, int device,
                           Stream stream)
    : owner_(
          std::make_shared<Owner>(Owner{allocate(service.body().driver(), spec, device, stream)})),
      view_(spec.over(owner_->memory.data(), device)),
      storage_bytes_(spec.storage_bytes()) {}

DeviceTensor::~DeviceTensor() = default;
DeviceTensor::DeviceTensor(DeviceTensor&& other) noexcept = default;
DeviceTensor& DeviceTensor::operator=(DeviceTensor&& other) noexcept = default;

QuantizedTensors per_token_group_quant(KernelService& service, const Descriptor& descriptor,
                                       const TensorView& input, Stream stream,
                                       const TensorView& masked_m, std::int64_t expected_m) {
  if (!std::holds_alternative<PerTokenGroupQuant>(descriptor.traits)) {
    throw InvalidArgument("descriptor", std::string(op_name(descriptor.traits)),
                          "it must be per_token_group_quant");
  }
  const OutputSpecs specs = output_specs(descriptor.traits, input);
  const Kernel kernel = service.get(descriptor, input.device, stream);
  QuantizedTensors outputs{DeviceTensor(service, specs.q, input.device, stream),
                           DeviceTensor(service, specs.s, input.device, stream)};
  per_token_group_quant(kernel,
                        {.input = input,
                         .output_q = outputs.q.view(),
                         .output_s = outputs.s.view(),
                         .masked_m = masked_m,
                         .expected_m = expected_m},
                        stream);
  return outputs;
}

QuantizedTensors per_token_quant(KernelService& service, const Descriptor& descriptor,
                                 const TensorView& input, Stream stream) {
  if (!std::holds_alternative<PerTokenQuant>(descriptor.traits)) {
    throw InvalidArgument("descriptor", std::string(op_name(descriptor.traits)),
                          "it must be per_token_quant");
  }
  const OutputSpecs specs = output_specs(descriptor.traits, input);
  const Kernel kernel = service.get(descriptor, input.device, stream);
  QuantizedTensors outputs{DeviceTensor(service, specs.q, input.device, stream),
                           DeviceTensor(service, specs.s, input.device, stream)};
  per_token_quant(
      kernel, {.input = input, .output_q = outputs.q.view(), .output_s = outputs.s.view()}, stream);
  return outputs;
}

}  // namespace quantjit

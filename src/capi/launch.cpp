// SPDX-License-Identifier: Apache-2.0
#include "src/capi/guard.hpp"
#include "src/capi/handles.hpp"
#include "src/capi/tensor.hpp"
#include "src/capi/text.hpp"
#include "src/service/body.hpp"

#include <quantjit/error.hpp>
#include <quantjit/ops.hpp>
#include <quantjit/quantjit.h>

#include <string>

using namespace quantjit;
using namespace quantjit::capi;

namespace {

void group_quant(const qj_kernel& kernel, const qj_operands& operands, void* stream) {
  const Place place = place_of(kernel);
  per_token_group_quant(kernel.kernel,
                        {.input = view_of(operands.input, "input", place),
                         .output_q = view_of(operands.output_q, "output_q", place),
                         .output_s = view_of(operands.output_s, "output_s", place),
                         .masked_m = view_if_given(operands.masked_m, "masked_m", place),
                         .expected_m = operands.expected_m},
                        static_cast<Stream>(stream));
}

void token_quant(const qj_kernel& kernel, const qj_operands& operands, void* stream) {
  const Place place = place_of(kernel);
  const TokenQuantArgs arguments{.input = view_of(operands.input, "input", place),
                                 .output_q = view_of(operands.output_q, "output_q", place),
                                 .output_s = view_of(operands.output_s, "output_s", place)};
  if (operands.masked_m != nullptr) {
    static_cast<void>(view_of(operands.masked_m, "masked_m", place));  // its own error comes first
    throw InvalidArgument("masked_m", "given", "per_token_quant takes no masked_m");
  }
  per_token_quant(kernel.kernel, arguments, static_cast<Stream>(stream));
}

void launch(const qj_kernel& kernel, const qj_operands& operands, void* stream) {
  const Traits& traits = kernel.kernel.traits();
  if (std::holds_alternative<CustomTraits>(traits)) {
    throw InvalidArgument("kernel", std::string(op_name(traits)),
                          "a registered operation is launched with qj_launch_raw()");
  }
  if (std::holds_alternative<PerTokenGroupQuant>(traits)) {
    group_quant(kernel, operands, stream);
  } else {
    token_quant(kernel, operands, stream);
  }
}

/// The device to ask a kernel for, before anything is compiled for tensors that cannot be used.
int device_for(KernelService& service, const qj_operands& operands) {
  require(operands.input, "input");
  const Place place{kind_of(service.body().driver()), kCurrentDevice};
  return view_of(operands.input, "input", place).device;
}

void store_spec(const TensorSpec& spec, qj_tensor_spec* out, std::string_view name) {
  if (out == nullptr) {
    return;
  }
  qj_tensor_spec plain{.struct_size = 0,
                       .dtype = to_dlpack(spec.dtype),
                       .ndim = spec.ndim,
                       .shape = {},
                       .strides = {},
                       .storage_bytes = spec.storage_bytes()};
  std::copy_n(spec.shape.begin(), spec.ndim, plain.shape);
  std::copy_n(spec.strides.begin(), spec.ndim, plain.strides);
  write_struct(plain, out, name);
}

}  // namespace

qj_status qj_per_token_group_quant(const qj_kernel* kernel, const qj_dltensor* input,
                                   const qj_dltensor* output_q, const qj_dltensor* output_s,
                                   const qj_dltensor* masked_m, int64_t expected_m, void* stream) {
  return guard([&] {
    require(kernel, "kernel");
    group_quant(*kernel,
                {.struct_size = sizeof(qj_operands),
                 .input = input,
                 .output_q = output_q,
                 .output_s = output_s,
                 .masked_m = masked_m,
                 .expected_m = expected_m},
                stream);
  });
}

qj_status qj_per_token_quant(const qj_kernel* kernel, const qj_dltensor* input,
                             const qj_dltensor* output_q, const qj_dltensor* output_s,
                             void* stream) {
  return guard([&] {
    require(kernel, "kernel");
    token_quant(*kernel,
                {.struct_size = sizeof(qj_operands),
                 .input = input,
                 .output_q = output_q,
                 .output_s = output_s,
                 .masked_m = nullptr,
                 .expected_m = 0},
                stream);
  });
}

qj_status qj_kernel_launch(const qj_kernel* kernel, const qj_operands* operands, void* stream) {
  return guard([&] {
    require(kernel, "kernel");
    launch(*kernel, read_struct(operands, "operands"), stream);
  });
}

qj_status qj_launch(qj_service* service, const char* traits, size_t traits_size,
                    const qj_operands* operands, void* stream) {
  return guard([&] {
    require(service, "service");
    const qj_operands given = read_struct(operands, "operands");
    const Descriptor descriptor = service->service.parse(view_of(traits, traits_size, "traits"));
    const int device = device_for(service->service, given);
    const qj_kernel kernel(service->service.get(descriptor, device, static_cast<Stream>(stream)));
    launch(kernel, given, stream);
  });
}

qj_status qj_output_specs(const char* traits, size_t traits_size, const qj_dltensor* input,
                          qj_tensor_spec* output_q, qj_tensor_spec* output_s) {
  return guard([&] {
    const Descriptor descriptor = parse_descriptor(view_of(traits, traits_size, "traits"));
    const OutputSpecs specs =
        output_specs(descriptor.traits, view_of(input, "input", {Place::Kind::kAny, 0}));
    store_spec(specs.q, output_q, "output_q");
    store_spec(specs.s, output_s, "output_s");
  });
}

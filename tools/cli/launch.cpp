// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/launch.hpp"

#include "src/base/sha256.hpp"
#include "src/driver/device.hpp"
#include "src/driver/device_memory.hpp"
#include "src/driver/stream.hpp"

#include <quantjit/ops.hpp>

namespace quantjit::cli {
namespace {

/// A copy of host bytes in device memory.
driver::DeviceBuffer upload(const OpenDevice& device, const std::vector<std::byte>& bytes) {
  driver::DeviceBuffer buffer(*device.api, device.ordinal, bytes.size());
  buffer.upload(bytes);
  return buffer;
}

std::vector<std::byte> download(const driver::DeviceBuffer& buffer) {
  std::vector<std::byte> bytes(buffer.size());
  buffer.download(bytes);
  return bytes;
}

TensorView on_device(const TensorView& view, const driver::DeviceBuffer& buffer,
                     const OpenDevice& device) {
  return io::rebased(view, buffer.data(), device.ordinal);
}

}  // namespace

Outputs launch_on_device(const Kernel& kernel, const OpenDevice& device,
                         const io::ProblemBuffers& buffers, std::int64_t expected_m) {
  const driver::ContextGuard context(*device.api, device.ordinal);
  const driver::DeviceBuffer input = upload(device, buffers.input);
  const driver::DeviceBuffer q = upload(device, buffers.q);
  const driver::DeviceBuffer s = upload(device, buffers.s);
  const driver::DeviceBuffer mask = upload(device, buffers.mask);
  // A copy from pageable memory may return before its last bytes have reached the device, and the
  // stream below does not wait for the default stream by itself.
  driver::synchronize(*device.api, nullptr);

  const driver::StreamOwner stream(*device.api, device.ordinal);
  if (std::holds_alternative<PerTokenGroupQuant>(kernel.traits())) {
    const bool masked = buffers.mask_view.ndim != 0;
    per_token_group_quant(
        kernel,
        {.input = on_device(buffers.input_view, input, device),
         .output_q = on_device(buffers.q_view, q, device),
         .output_s = on_device(buffers.s_view, s, device),
         .masked_m = masked ? on_device(buffers.mask_view, mask, device) : TensorView{},
         .expected_m = expected_m},
        stream.get());
  } else {
    per_token_quant(kernel,
                    {.input = on_device(buffers.input_view, input, device),
                     .output_q = on_device(buffers.q_view, q, device),
                     .output_s = on_device(buffers.s_view, s, device)},
                    stream.get());
  }
  stream.synchronize();
  return {download(q), download(s)};
}

std::string sha256_text(const std::vector<std::byte>& bytes) {
  return base::to_hex(base::sha256(bytes));
}

}  // namespace quantjit::cli

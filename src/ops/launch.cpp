// SPDX-License-Identifier: Apache-2.0
#include "src/ops/launch.hpp"

#include "src/driver/device.hpp"
#include "src/driver/launch.hpp"
#include "src/ops/tensor_check.hpp"

#include <quantjit/error.hpp>

#include <optional>
#include <string>

namespace quantjit::ops {
namespace {

/// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD are 1 and 2: like null, they belong to the current
/// context.
bool belongs_to_current_context(Stream stream) {
  return reinterpret_cast<std::uintptr_t>(stream) <= 2;
}

}  // namespace

const detail::LoadedKernel& require_loaded(const Kernel& kernel) {
  if (!kernel) [[unlikely]] {
    throw InvalidArgument("kernel", "empty", "it must come from KernelService::get");
  }
  return *kernel.state();
}

void refuse_operation(const detail::LoadedKernel& kernel, std::string_view wanted) {
  throw InvalidArgument("kernel", std::string(op_name(kernel.traits)),
                        "this operation needs a kernel of " + std::string(wanted));
}

void require_stream_device(const detail::LoadedKernel& kernel, Stream stream) {
  if (belongs_to_current_context(stream)) {
    return;
  }
  // Mostly the primary context, and then one call tells; PyTorch's streams live there too.
  if (driver::context_of_stream(*kernel.api, stream) == kernel.primary_context) [[likely]] {
    return;
  }
  const int device = driver::device_of_stream(*kernel.api, stream);
  if (device != kernel.device->ordinal) [[unlikely]] {
    throw InvalidArgument(
        "stream", "on device " + std::to_string(device),
        "the kernel and the tensors are on device " + std::to_string(kernel.device->ordinal));
  }
}

void launch_entry(const detail::LoadedKernel& kernel, const LaunchShape& shape, const void* params,
                  Stream stream) {
  const driver::DriverApi& api = *kernel.api;
  const driver::LaunchConfig config{.grid = {shape.grid.x, shape.grid.y, shape.grid.z},
                                    .block = {shape.block.x, shape.block.y, shape.block.z},
                                    .dynamic_shared_bytes = shape.shared_bytes,
                                    .stream = stream,
                                    .programmatic = kernel.programmatic[shape.entry]};
  void* arguments[] = {const_cast<void*>(params)};  // the driver only reads through it
  if (belongs_to_current_context(stream) && driver::current_device(api) != kernel.device->ordinal) {
    const driver::ContextGuard guard(api, kernel.device->ordinal);
    driver::launch(api, kernel.entries[shape.entry], config, arguments);
    return;
  }
  driver::launch(api, kernel.entries[shape.entry], config, arguments);
}

}  // namespace quantjit::ops

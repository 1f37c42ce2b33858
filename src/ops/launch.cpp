// SPDX-License-Identifier: Apache-2.0
#include "src/ops/launch.hpp"

#include "src/base/nvtx.hpp"
#include "src/driver/device.hpp"
#include "src/driver/launch.hpp"
#include "src/ops/tensor_check.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <string>

namespace quantjit::ops {
namespace {

constexpr std::string_view kOperands = "the kernel and the tensors are";

std::string describe_stream(const driver::DriverApi& api, Stream stream) noexcept {
  if (driver::is_default_stream(stream)) {
    return "the stream is a default stream";
  }
  try {
    return "the stream is of device " + std::to_string(driver::device_of_stream(api, stream));
  } catch (const Error&) {
    return "the stream is unusable";
  }
}

void launch_checked(const detail::LoadedKernel& kernel, const LaunchShape& shape,
                    const void* params, Stream stream) {
  const driver::LaunchConfig config{.grid = {shape.grid.x, shape.grid.y, shape.grid.z},
                                    .block = {shape.block.x, shape.block.y, shape.block.z},
                                    .dynamic_shared_bytes = shape.shared_bytes,
                                    .stream = stream,
                                    .programmatic = kernel.programmatic[shape.entry]};
  void* arguments[] = {const_cast<void*>(params)};  // the driver only reads through it
  driver::launch(*kernel.api, kernel.entries[shape.entry], config, arguments);
}

/// On a thread whose current context is not the device's primary one, or that has none.
[[gnu::noinline]] void launch_elsewhere(const detail::LoadedKernel& kernel,
                                        const LaunchShape& shape, const void* params,
                                        Stream stream) {
  // Before the guard, so that a refusal tells of the caller's context.
  driver::require_stream_on(*kernel.api, stream, kernel.device->ordinal, kOperands);
  const driver::ContextGuard guard(*kernel.api, kernel.device->ordinal);
  launch_checked(kernel, shape, params, stream);
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

void refuse_devices(const detail::LoadedKernel& kernel, std::span<const NamedTensor> tensors,
                    Stream stream) {
  const int ordinal = kernel.device->ordinal;
  const auto other =
      std::find_if(tensors.begin(), tensors.end(), [ordinal](const NamedTensor& tensor) {
        return tensor.view.ndim != 0 && tensor.view.device != ordinal;
      });
  std::string rule = "the kernel is loaded on device " + std::to_string(ordinal);
  if (kernel.api != nullptr) {
    rule += ", " + describe_stream(*kernel.api, stream) + " and " +
            driver::describe_current_context(*kernel.api);
  }
  refuse(other->name, "device", other->view.device,
         rule + "; kernel, tensors and stream must be of one device");
}

void require_stream_device(const detail::LoadedKernel& kernel, Stream stream) {
  // Mostly the primary context, and then one call tells; PyTorch's streams live there too.
  if (driver::is_default_stream(stream) ||
      driver::is_stream_of(*kernel.api, stream, kernel.primary_context)) [[likely]] {
    return;
  }
  driver::require_stream_on(*kernel.api, stream, kernel.device->ordinal, kOperands);
}

namespace {

void launch_anywhere(const detail::LoadedKernel& kernel, const LaunchShape& shape,
                     const void* params, Stream stream) {
  if (kernel.api->forked()) [[unlikely]] {
    kernel.api->initialize();  // throws and says why
  }
  if (driver::current_context(*kernel.api) == kernel.primary_context) [[likely]] {
    require_stream_device(kernel, stream);
    launch_checked(kernel, shape, params, stream);
  } else {
    launch_elsewhere(kernel, shape, params, stream);
  }
}

[[gnu::noinline, gnu::cold]] void launch_profiled(const detail::LoadedKernel& kernel,
                                                  const LaunchShape& shape, const void* params,
                                                  Stream stream) {
  const base::Range range("launch", op_name(kernel.traits));
  launch_anywhere(kernel, shape, params, stream);
}

}  // namespace

void launch_entry(const detail::LoadedKernel& kernel, const LaunchShape& shape, const void* params,
                  Stream stream) {
  if (base::profiled()) [[unlikely]] {
    launch_profiled(kernel, shape, params, stream);
  } else {
    launch_anywhere(kernel, shape, params, stream);
  }
}

}  // namespace quantjit::ops

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/ops/geometry.hpp"
#include "src/ops/tensor_check.hpp"
#include "src/service/loaded_kernel.hpp"

#include <quantjit/kernel.hpp>

#include <array>
#include <span>

namespace quantjit::ops {

/// State of a kernel that must be one of operation `Op`. Throws: InvalidArgument.
[[nodiscard]] const detail::LoadedKernel& require_loaded(const Kernel& kernel);
[[noreturn]] void refuse_operation(const detail::LoadedKernel& kernel, std::string_view wanted);

/// Facts for plan().
[[nodiscard]] inline DeviceFacts facts_of(const detail::LoadedKernel& kernel) {
  return {kernel.image->info.arch, kernel.device->sm_count, kMaxSlabChunks, kernel.geometry};
}

/// Throws InvalidArgument that names the devices of kernel, tensors, stream and current context.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_devices(const detail::LoadedKernel& kernel,
                                                           std::span<const NamedTensor> tensors,
                                                           Stream stream);

/// Refuses tensors of another device than the kernel's. A tensor without dimensions is one that is
/// not given.
template <typename... Tensors>
void require_device(const detail::LoadedKernel& kernel, Stream stream, const Tensors&... tensors) {
  const int ordinal = kernel.device->ordinal;
  if (((tensors.view.device != ordinal && tensors.view.ndim != 0) || ...)) [[unlikely]] {
    refuse_devices(kernel, std::array{tensors...}, stream);
  }
}

/// Refuses a stream of another device than the kernel's. Streams of the current context (null and
/// the default-stream handles) fit any device: the launch makes the right context current.
/// REQUIRES: some context is current.
void require_stream_device(const detail::LoadedKernel& kernel, Stream stream);

/// Launches one entry point on a stream of the kernel's device, in a context of that device; the
/// caller's is current again afterwards. Throws: InvalidArgument for a stream of another device,
/// DriverError.
void launch_entry(const detail::LoadedKernel& kernel, const LaunchShape& shape, const void* params,
                  Stream stream);

}  // namespace quantjit::ops

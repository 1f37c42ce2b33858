// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/ops/geometry.hpp"
#include "src/service/loaded_kernel.hpp"

#include <quantjit/kernel.hpp>

namespace quantjit::ops {

/// State of a kernel that must be one of operation `Op`. Throws: InvalidArgument.
[[nodiscard]] const detail::LoadedKernel& require_loaded(const Kernel& kernel);
[[noreturn]] void refuse_operation(const detail::LoadedKernel& kernel, std::string_view wanted);

/// Facts for plan().
[[nodiscard]] inline DeviceFacts facts_of(const detail::LoadedKernel& kernel) {
  return {kernel.image->info.arch, kernel.device->sm_count};
}

/// Refuses a stream of another device than the kernel's. Streams of the current context (null and
/// the default-stream handles) fit any device: the launch makes the right context current.
void require_stream_device(const detail::LoadedKernel& kernel, Stream stream);

/// Launches one entry point. Throws: DriverError.
void launch_entry(const detail::LoadedKernel& kernel, const LaunchShape& shape, const void* params,
                  Stream stream);

}  // namespace quantjit::ops

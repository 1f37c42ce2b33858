// SPDX-License-Identifier: Apache-2.0
#include "src/driver/launch.hpp"

#include "src/driver/context_scope.hpp"

#include <quantjit/error.hpp>

#include <string>

namespace quantjit::driver {
namespace {

std::string text_of(const Extent& extent) {
  return std::to_string(extent.x) + "x" + std::to_string(extent.y) + "x" + std::to_string(extent.z);
}

/// Kept out of launch(), so that the path that works stays short.
[[noreturn, gnu::noinline, gnu::cold]] void fail(const DriverApi& api, const LaunchConfig& config,
                                                 int code) {
  throw_driver_error(api, "cuLaunchKernelEx", code,
                     "grid " + text_of(config.grid) + ", block " + text_of(config.block) + ", " +
                         std::to_string(config.dynamic_shared_bytes) +
                         " bytes of dynamic shared memory");
}

}  // namespace

void launch(const DriverApi& api, KernelHandle kernel, const LaunchConfig& config,
            void** arguments) {
  if (api.forked()) [[unlikely]] {
    api.initialize();  // throws and says why
  }
  CUlaunchAttribute attributes[1];
  CUlaunchConfig native;
  native.gridDimX = config.grid.x;
  native.gridDimY = config.grid.y;
  native.gridDimZ = config.grid.z;
  native.blockDimX = config.block.x;
  native.blockDimY = config.block.y;
  native.blockDimZ = config.block.z;
  native.sharedMemBytes = config.dynamic_shared_bytes;
  native.hStream = config.stream;
  native.attrs = attributes;
  native.numAttrs = 0;
  if (config.programmatic == ProgrammaticLaunch::kOn) {
    attributes[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[0].value.programmaticStreamSerializationAllowed = 1;
    native.numAttrs = 1;
  }
  // The driver takes a kernel handle in place of a function and picks the stream's context.
  const auto function = reinterpret_cast<CUfunction>(kernel.get());
  const auto call = [&] {
    return api.table().cuLaunchKernelEx(&native, function, arguments, nullptr);
  };
  CUresult code = call();
  if (code == CUDA_ERROR_INVALID_CONTEXT && !is_default_stream(config.stream)) [[unlikely]] {
    code = call_in_stream_context(api, config.stream, call);
  }
  if (code != CUDA_SUCCESS) [[unlikely]] {
    fail(api, config, code);
  }
}

}  // namespace quantjit::driver

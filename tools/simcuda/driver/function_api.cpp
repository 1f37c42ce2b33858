// SPDX-License-Identifier: Apache-2.0
// cuKernel*, cuFunc* and cuOccupancy*.
#include "library.hpp"
#include "registry.hpp"

#include <algorithm>

using namespace quantjit::simdriver;

namespace {

std::shared_ptr<LoadedKernel> live_kernel(CUkernel handle) {
  require_initialized();
  return lookup(registry().kernels, handle);
}

/// Blocks of `threads` threads and `dynamic` bytes that one multiprocessor holds at once.
int resident_blocks(const Function& function, int threads, std::size_t dynamic) {
  constexpr int kWarp = 32;
  constexpr int kReservedShared = 1024;     // bytes a block, taken by the hardware
  constexpr int kRegisterAllocation = 256;  // a warp's registers come in units of this
  constexpr int kRegistersPerSm = 65536;
  Device& device = function.context->device;
  LoadedKernel& kernel = *function.kernel;
  const KernelSettings settings = kernel.settings_for(device);
  if (threads > static_cast<int>(kernel.kernel->max_threads) ||
      dynamic > static_cast<std::size_t>(settings.max_dynamic_shared)) {
    return 0;
  }
  const int warps = (threads + kWarp - 1) / kWarp;
  const int shared = static_cast<int>(kernel.kernel->static_shared_bytes) +
                     static_cast<int>(dynamic) + kReservedShared;
  const int registers_per_warp =
      (std::max(16, static_cast<int>(kernel.kernel->registers)) * kWarp + kRegisterAllocation - 1) /
      kRegisterAllocation * kRegisterAllocation;
  return std::min({device.spec.blocks_per_sm, device.spec.threads_per_sm / (warps * kWarp),
                   device.spec.shared_per_sm / shared,
                   kRegistersPerSm / (registers_per_warp * warps)});
}

void parameter_info(const quantjit::sim::Kernel& kernel, std::size_t index, std::size_t* offset,
                    std::size_t* size) {
  require(offset != nullptr && index < kernel.parameters.size());
  *offset = kernel.parameters[index].offset;
  if (size != nullptr) {
    *size = kernel.parameters[index].size;
  }
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuKernelGetFunction(CUfunction* function, CUkernel handle) {
  return guard([&] {
    const auto kernel = live_kernel(handle);
    require(function != nullptr);
    *function = function_of(kernel, current_context());
  });
}

QUANTJIT_SIM_EXPORT CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute,
                                                  CUkernel handle, CUdevice device) {
  return guard([&] {
    const auto kernel = live_kernel(handle);
    require(value != nullptr);
    *value = kernel->get(device_at(device), attribute);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value,
                                                  CUkernel handle, CUdevice device) {
  return guard([&] { live_kernel(handle)->set(device_at(device), attribute, value); });
}

QUANTJIT_SIM_EXPORT CUresult cuKernelGetName(const char** name, CUkernel handle) {
  return guard([&] {
    const auto kernel = live_kernel(handle);
    require(name != nullptr);
    *name = kernel->kernel->name.c_str();
  });
}

QUANTJIT_SIM_EXPORT CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset,
                                                  size_t* size) {
  return guard([&] { parameter_info(*live_kernel(handle)->kernel, index, offset, size); });
}

QUANTJIT_SIM_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                                                CUfunction handle) {
  return guard([&] {
    require_initialized();
    const auto function = resolve_function(handle);
    require(value != nullptr);
    *value = function->kernel->get(function->context->device, attribute);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute,
                                                int value) {
  return guard([&] {
    require_initialized();
    const auto function = resolve_function(handle);
    function->kernel->set(function->context->device, attribute, value);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuFuncGetName(const char** name, CUfunction handle) {
  return guard([&] {
    require_initialized();
    const auto function = resolve_function(handle);
    require(name != nullptr);
    *name = function->kernel->kernel->name.c_str();
  });
}

QUANTJIT_SIM_EXPORT CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset,
                                                size_t* size) {
  return guard([&] {
    require_initialized();
    parameter_info(*resolve_function(handle)->kernel->kernel, index, offset, size);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                         CUfunction handle,
                                                                         int threads,
                                                                         size_t dynamic_bytes) {
  return guard([&] {
    current_context();
    const auto function = resolve_function(handle);
    require(blocks != nullptr && threads > 0);
    *blocks = resident_blocks(*function, threads, dynamic_bytes);
  });
}

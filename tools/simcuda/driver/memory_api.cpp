// SPDX-License-Identifier: Apache-2.0
// Allocation: cuMemAlloc*, cuMemFree*, cuMemHostAlloc and their queries.
#include "capture.hpp"
#include "pinned.hpp"
#include "registry.hpp"
#include "stream.hpp"

using namespace quantjit::simdriver;

namespace {

void allocate(CUdeviceptr* out, std::size_t bytes, Context& context) {
  const CUdeviceptr address = context.device.allocate(bytes, context.handle);
  require(address != 0, CUDA_ERROR_OUT_OF_MEMORY);
  *out = address;
}

/// Frees a device allocation of whichever device it belongs to.
void release(CUdeviceptr address) {
  Device* const device = device_of(address);
  require(device != nullptr && device->release(address));
}

void* allocate_host(std::size_t bytes) {
  const Context& context = current_context();
  forbid_unsafe_call();
  return allocate_pinned(bytes, context.handle, context.device.ordinal);
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  return guard([&] {
    Context& context = current_context();
    require(out != nullptr && bytes > 0);
    forbid_unsafe_call();
    allocate(out, bytes, context);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  return guard([&] {
    Context& context = current_context();
    forbid_unsafe_call();
    if (address == 0) {
      return;
    }
    const Device* const device = device_of(address);
    require(device != nullptr && device->owner(address).has_value() &&
            device->owner(address)->first == address);
    context.synchronize();  // freeing waits for the kernels that may still use the memory
    release(address);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream handle) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    require(out != nullptr);
    forbid_synchronizing(*stream);
    allocate(out, bytes, *stream->context);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    forbid_synchronizing(*stream);
    stream->drain();
    release(address);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  return guard([&] {
    const Context& context = current_context();
    require(free_bytes != nullptr && total_bytes != nullptr);
    const auto& memory = context.device.memory;
    *free_bytes = memory.capacity() - memory.used();
    *total_bytes = memory.capacity();
  });
}

QUANTJIT_SIM_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size,
                                                     CUdeviceptr address) {
  return guard([&] {
    current_context();
    const Device* const device = device_of(address);
    const auto owner = device == nullptr ? std::nullopt : device->owner(address);
    require(owner.has_value(), CUDA_ERROR_NOT_FOUND);
    if (base != nullptr) {
      *base = owner->first;
    }
    if (size != nullptr) {
      *size = owner->second.bytes;
    }
  });
}

QUANTJIT_SIM_EXPORT CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned int flags) {
  return guard([&] {
    constexpr unsigned kKnown = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED;
    require(out != nullptr && (flags & ~(kKnown | CU_MEMHOSTALLOC_DEVICEMAP)) == 0);
    require((flags & CU_MEMHOSTALLOC_DEVICEMAP) == 0, CUDA_ERROR_NOT_SUPPORTED);
    *out = allocate_host(bytes);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuMemAllocHost_v2(void** out, size_t bytes) {
  return guard([&] {
    require(out != nullptr);
    *out = allocate_host(bytes);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuMemFreeHost(void* pointer) {
  return guard([&] {
    Context& context = current_context();
    forbid_unsafe_call();
    require(find_pinned(reinterpret_cast<std::uintptr_t>(pointer)).has_value());
    context.synchronize();
    require(free_pinned(pointer));
  });
}

// SPDX-License-Identifier: Apache-2.0
#include "src/driver/device.hpp"

#include "src/driver/driver_table.hpp"

#include <quantjit/error.hpp>

#include <array>

namespace quantjit::driver {
namespace {

CUdevice device_handle(const DriverApi& api, int ordinal) {
  const int count = device_count(api);
  if (ordinal < 0 || ordinal >= count) {
    throw InvalidArgument("device", std::to_string(ordinal),
                          "it must be at least 0 and less than the " + std::to_string(count) +
                              " devices that are visible");
  }
  CUdevice device = 0;
  check(api, api.table().cuDeviceGet(&device, ordinal), "cuDeviceGet");
  return device;
}

std::string device_name(const DriverApi& api, CUdevice device) {
  std::array<char, 256> name{};
  check(api, api.table().cuDeviceGetName(name.data(), static_cast<int>(name.size()), device),
        "cuDeviceGetName");
  return name.data();
}

std::string bus_id(const DriverApi& api, CUdevice device) {
  std::array<char, 32> id{};
  const CUresult code =
      api.table().cuDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device);
  return code == CUDA_SUCCESS ? id.data() : "";  // a device that is simulated is on no bus
}

DeviceInfo query(const DriverApi& api, int ordinal) {
  const CUdevice device = device_handle(api, ordinal);
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    check(api, api.table().cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
  };
  const auto size = [&](CUdevice_attribute which) {
    return static_cast<std::size_t>(attribute(which));
  };
  DeviceInfo info;
  info.ordinal = ordinal;
  info.name = device_name(api, device);
  info.pci_bus_id = bus_id(api, device);
  info.major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  info.minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  // Described, not judged: whether there are kernels for it is asked by whoever compiles.
  info.arch = {static_cast<std::uint16_t>(info.major), static_cast<std::uint16_t>(info.minor), 'a'};
  info.driver_version = api.version();
  info.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.warp_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  info.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  info.max_threads_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  info.max_registers_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  info.clock_khz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  info.memory_clock_khz = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  info.memory_bus_bits = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  info.l2_bytes = size(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info.shared_bytes_per_block = size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  info.shared_bytes_per_block_optin = size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info.shared_bytes_per_sm = size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  check(api, api.table().cuDeviceTotalMem(&info.memory_bytes, device), "cuDeviceTotalMem");
  return info;
}

/// Makes a query whose answer does not depend on the current context, but which a driver may refuse
/// on a thread without any; there it is repeated in one that is known.
template <typename Query>
CUresult in_known_context(const DriverApi& api, Query&& query) {
  CUresult code = query();
  const CUcontext known = code == CUDA_ERROR_INVALID_CONTEXT ? retained_context(api) : nullptr;
  if (known != nullptr && api.table().cuCtxPushCurrent(known) == CUDA_SUCCESS) {
    code = query();
    CUcontext popped = nullptr;
    api.table().cuCtxPopCurrent(&popped);
  }
  return code;
}

}  // namespace

int device_count(const DriverApi& api) {
  api.initialize();
  int count = 0;
  check(api, api.table().cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

const DeviceInfo& device_info(const DriverApi& api, int ordinal) {
  api.initialize();
  const std::lock_guard lock(api.mutex_);
  auto& slots = api.slots_->by_ordinal;
  const auto found = slots.find(ordinal);
  if (found != slots.end() && found->second.info) {
    return *found->second.info;
  }
  DeviceInfo info = query(api, ordinal);
  return slots[ordinal].info.emplace(std::move(info));
}

CUctx_st* primary_context(const DriverApi& api, int ordinal) {
  api.initialize();
  const std::lock_guard lock(api.mutex_);
  auto& slots = api.slots_->by_ordinal;
  const auto found = slots.find(ordinal);
  if (found != slots.end() && found->second.primary != nullptr) {
    return found->second.primary;
  }
  CUcontext context = nullptr;
  check(api, api.table().cuDevicePrimaryCtxRetain(&context, device_handle(api, ordinal)),
        "cuDevicePrimaryCtxRetain", "device " + std::to_string(ordinal));
  slots[ordinal].primary = context;
  return context;
}

CUctx_st* retained_context(const DriverApi& api) {
  const std::lock_guard lock(api.mutex_);
  for (const auto& [ordinal, slot] : api.slots_->by_ordinal) {
    if (slot.primary != nullptr) {
      return slot.primary;
    }
  }
  return nullptr;
}

std::optional<int> current_device(const DriverApi& api) {
  api.initialize();
  CUdevice device = 0;
  const CUresult code = api.table().cuCtxGetDevice(&device);
  if (code == CUDA_ERROR_INVALID_CONTEXT) {
    return std::nullopt;
  }
  check(api, code, "cuCtxGetDevice");
  return device;
}

int device_of_stream(const DriverApi& api, CUstream_st* stream) {
  api.initialize();
  const CUcontext context = context_of_stream(api, stream);
  // The driver answers for the current context only, so the stream's becomes current for a moment.
  check(api, api.table().cuCtxPushCurrent(context), "cuCtxPushCurrent");
  CUdevice device = 0;
  const CUresult code = api.table().cuCtxGetDevice(&device);
  CUcontext popped = nullptr;
  const CUresult pop_code = api.table().cuCtxPopCurrent(&popped);
  check(api, code, "cuCtxGetDevice");
  check(api, pop_code, "cuCtxPopCurrent");
  return device;
}

CUctx_st* context_of_stream(const DriverApi& api, CUstream_st* stream) {
  CUcontext context = nullptr;
  const auto query = [&] { return api.table().cuStreamGetCtx(stream, &context); };
  // The null stream belongs to the current context, so that a known one would be a wrong answer.
  const CUresult code = stream == nullptr ? query() : in_known_context(api, query);
  check(api, code, "cuStreamGetCtx");
  return context;
}

std::optional<int> device_of_pointer(const DriverApi& api, const void* pointer) {
  api.initialize();
  int ordinal = 0;
  const CUresult code = in_known_context(api, [&] {
    return api.table().cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                             reinterpret_cast<CUdeviceptr>(pointer));
  });
  if (code == CUDA_ERROR_INVALID_VALUE) {
    return std::nullopt;
  }
  check(api, code, "cuPointerGetAttribute");
  return ordinal;
}

std::size_t free_memory_bytes(const DriverApi& api, int ordinal) {
  const ContextGuard context(api, ordinal);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(api, api.table().cuMemGetInfo(&free_bytes, &total_bytes), "cuMemGetInfo");
  return free_bytes;
}

ContextGuard::ContextGuard(const DriverApi& api, int ordinal) : api_(api) {
  if (current_device(api) == ordinal) {
    return;
  }
  check(api, api.table().cuCtxPushCurrent(primary_context(api, ordinal)), "cuCtxPushCurrent");
  pushed_ = true;
}

ContextGuard::~ContextGuard() {
  if (pushed_ && DriverApi::process_is_live()) {
    CUcontext popped = nullptr;
    api_.table().cuCtxPopCurrent(&popped);  // only fails if the caller popped our context
  }
}

}  // namespace quantjit::driver

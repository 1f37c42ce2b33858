// SPDX-License-Identifier: Apache-2.0
#include "src/driver/device.hpp"

#include "src/driver/driver_table.hpp"

#include <quantjit/error.hpp>

#include <array>

namespace quantjit::driver {
namespace {

void require_ordinal(const DeviceSlots& slots, int ordinal) {
  if (ordinal < 0 || ordinal >= slots.count) {
    throw InvalidArgument("device", std::to_string(ordinal),
                          "it must be at least 0 and less than the " + std::to_string(slots.count) +
                              " devices that are visible");
  }
}

CUdevice device_handle(const DriverApi& api, int ordinal) {
  CUdevice device = 0;
  check(api, api.table().cuDeviceGet(&device, ordinal), "cuDeviceGet");
  return device;
}

/// Device of a primary context that primary_context() has retained. Such a context lives as long as
/// the process, so that its address tells the device without a driver call.
std::optional<int> known_device(const DriverApi& api, CUcontext context) {
  const DeviceSlots& slots = api.slots();
  for (int ordinal = 0; ordinal < slots.count; ++ordinal) {
    if (slots.at(ordinal).primary.load(std::memory_order_relaxed) == context) {
      return ordinal;
    }
  }
  return std::nullopt;
}

/// Whether the current context is on a device; false for one that cannot tell.
bool is_on_device(const DriverApi& api, CUcontext current, int ordinal) {
  if (const auto known = known_device(api, current)) {
    return *known == ordinal;
  }
  CUdevice device = 0;
  return api.table().cuCtxGetDevice(&device) == CUDA_SUCCESS && device == ordinal;
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

/// False for what a context answers because of its own state rather than to the question.
bool is_answer(CUresult code) {
  return code == CUDA_SUCCESS || code == CUDA_ERROR_INVALID_VALUE ||
         code == CUDA_ERROR_INVALID_HANDLE;
}

/// Makes a query whose answer does not depend on the current context, but which a driver may refuse
/// on a thread without any, and in one that a fault has broken. There it is made in those that are
/// known.
template <typename Query>
CUresult in_some_context(const DriverApi& api, Query&& query) {
  CUresult code = CUDA_ERROR_INVALID_CONTEXT;
  if (current_context(api) != nullptr) [[likely]] {
    code = query();
  }
  const DeviceSlots& slots = api.slots();
  bool asked = false;
  for (int ordinal = 0; ordinal < slots.count && !is_answer(code); ++ordinal) {
    const CUcontext known = slots.at(ordinal).primary.load(std::memory_order_relaxed);
    if (known != nullptr && api.table().cuCtxPushCurrent(known) == CUDA_SUCCESS) {
      asked = true;
      code = query();
      CUcontext popped = nullptr;
      api.table().cuCtxPopCurrent(&popped);
    }
  }
  return code == CUDA_ERROR_INVALID_CONTEXT && !asked ? query() : code;
}

}  // namespace

int device_count(const DriverApi& api) {
  api.initialize();
  return api.slots().count;
}

const DeviceInfo& device_info(const DriverApi& api, int ordinal) {
  api.initialize();
  DeviceSlots& slots = api.slots();
  require_ordinal(slots, ordinal);
  DeviceSlots::Slot& slot = slots.at(ordinal);
  if (const DeviceInfo* const known = slot.described.load(std::memory_order_acquire)) {
    return *known;
  }
  const std::lock_guard lock(slots.mutex);
  if (!slot.info) {
    slot.info = query(api, ordinal);
    slot.described.store(&*slot.info, std::memory_order_release);
  }
  return *slot.info;
}

CUctx_st* primary_context(const DriverApi& api, int ordinal) {
  api.initialize();
  DeviceSlots& slots = api.slots();
  require_ordinal(slots, ordinal);
  DeviceSlots::Slot& slot = slots.at(ordinal);
  CUcontext context = slot.primary.load(std::memory_order_acquire);
  if (context != nullptr) {
    return context;
  }
  const std::lock_guard lock(slots.mutex);
  context = slot.primary.load(std::memory_order_relaxed);
  if (context == nullptr) {
    check(api, api.table().cuDevicePrimaryCtxRetain(&context, device_handle(api, ordinal)),
          "cuDevicePrimaryCtxRetain", "device " + std::to_string(ordinal));
    slot.primary.store(context, std::memory_order_release);
  }
  return context;
}

CUctx_st* current_context(const DriverApi& api) {
  CUcontext context = nullptr;
  check(api, api.table().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  return context;
}

std::optional<int> current_device(const DriverApi& api) {
  api.initialize();
  const CUcontext context = current_context(api);
  if (context == nullptr) {
    return std::nullopt;
  }
  if (const auto known = known_device(api, context)) {
    return known;
  }
  CUdevice device = 0;
  check(api, api.table().cuCtxGetDevice(&device), "cuCtxGetDevice");
  return device;
}

std::string describe_current_context(const DriverApi& api) noexcept {
  try {
    const auto device = current_device(api);
    return device ? "the current context is of device " + std::to_string(*device)
                  : "no context is current";
  } catch (const Error&) {
    return "the current context is unusable";
  }
}

int device_of_stream(const DriverApi& api, CUstream_st* stream) {
  api.initialize();
  const CUcontext context = context_of_stream(api, stream);
  if (const auto known = known_device(api, context)) {
    return *known;
  }
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

bool is_stream_of(const DriverApi& api, CUstream_st* stream, const CUctx_st* context) noexcept {
  CUcontext found = nullptr;
  return api.table().cuStreamGetCtx(stream, &found) == CUDA_SUCCESS && found == context;
}

void require_stream_on(const DriverApi& api, CUstream_st* stream, int ordinal,
                       std::string_view operands) {
  if (is_default_stream(stream)) {
    return;
  }
  const int device = device_of_stream(api, stream);
  if (device != ordinal) {
    throw InvalidArgument("stream", "of device " + std::to_string(device),
                          std::string(operands) + " on device " + std::to_string(ordinal) +
                              ", and " + describe_current_context(api) +
                              "; pass a stream of device " + std::to_string(ordinal));
  }
}

CUctx_st* context_of_stream(const DriverApi& api, CUstream_st* stream) {
  CUcontext context = nullptr;
  const auto query = [&] { return api.table().cuStreamGetCtx(stream, &context); };
  // A default stream belongs to the current context, so that a known one would be a wrong answer.
  const CUresult code = is_default_stream(stream) ? query() : in_some_context(api, query);
  check(api, code, "cuStreamGetCtx");
  return context;
}

std::optional<int> device_of_pointer(const DriverApi& api, const void* pointer) {
  api.initialize();
  int ordinal = 0;
  const CUresult code = in_some_context(api, [&] {
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
  api.initialize();
  const CUcontext current = current_context(api);
  if (current != nullptr && is_on_device(api, current, ordinal)) {
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

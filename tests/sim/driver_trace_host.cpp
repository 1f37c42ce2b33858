// SPDX-License-Identifier: Apache-2.0
// Driver trace: devices, contexts, memory and pointers.
#include "driver_trace.hpp"

#include <array>
#include <cstring>

namespace quantjit::simtest {

std::vector<Section> trace_sections() {
  return {{"basics", trace_basics},
          {"attribute", trace_attributes},
          {"context", trace_contexts},
          {"memory", trace_memory},
          {"pointer", trace_pointers},
          {"library", trace_library},
          {"module", trace_module},
          {"kernel", trace_kernel},
          {"launch", trace_launch},
          {"stream", trace_stream},
          {"event", trace_event},
          {"capture_begin", trace_capture_begin},
          {"capture_unsafe", trace_capture_unsafe},
          {"capture_relaxed", trace_capture_relaxed},
          {"capture_legacy", trace_capture_legacy},
          {"capture_fork", trace_capture_fork},
          {"capture_load", trace_capture_load},
          {"capture_more", trace_capture_more},
          {"graph", trace_graph},
          {"fault", trace_fault},
          {"misaligned", trace_misaligned},
          {"trap", trace_trap}};
}

void trace_basics(const Trace& t) {
  int number = 0;
  CUdevice device = 0;
  char name[4] = {};
  t.answer("count_before_init", CU(cuDeviceGetCount)(&number));
  t.answer("current_before_init", CU(cuCtxGetCurrent)(nullptr));
  t.answer("version_before_init", CU(cuDriverGetVersion)(&number));
  t.answer("init_flags", CU(cuInit)(1));
  t.answer("init", CU(cuInit)(0));
  t.answer("version_null", CU(cuDriverGetVersion)(nullptr));
  t.answer("count", CU(cuDeviceGetCount)(&number));
  t.answer("count_null", CU(cuDeviceGetCount)(nullptr));
  t.answer("device_0", CU(cuDeviceGet)(&device, 0));
  t.answer("device_99", CU(cuDeviceGet)(&device, 99));
  t.answer("device_minus", CU(cuDeviceGet)(&device, -1));
  t.answer("name_short", CU(cuDeviceGetName)(name, 4, 0));
  t.value("name_short_end", name[3]);
  t.answer("name_device_99", CU(cuDeviceGetName)(name, 4, 99));
  t.answer("attribute_99", CU(cuDeviceGetAttribute)(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99));
  t.answer("attribute_bad",
           CU(cuDeviceGetAttribute)(&number, foreign<CUdevice_attribute>(9999), 0));
  t.answer("pci_short", CU(cuDeviceGetPCIBusId)(name, 4, 0));
  const char* text = nullptr;
  t.answer("error_name_bad", CU(cuGetErrorName)(foreign<CUresult>(12345), &text));
  t.value("error_name_bad_null", text == nullptr ? 1 : 0);
  void* address = nullptr;
  CUdriverProcAddressQueryResult status{};
  const auto ask = [&](const char* label, const char* symbol, int version, cuuint64_t flags) {
    address = &status;
    status = CU_GET_PROC_ADDRESS_SUCCESS;
    t.answer(label, CU(cuGetProcAddress)(symbol, &address, version, flags, &status));
    t.value(label, (address == nullptr ? 100 : 0) + static_cast<int>(status));
  };
  ask("proc", "cuMemAlloc", 13000, 0);
  ask("proc_old", "cuMemAlloc", 2000, 0);
  ask("proc_ex_too_old", "cuLaunchKernelEx", 11000, 0);
  ask("proc_suffix", "cuMemAlloc_v2", 13000, 0);
  ask("proc_unknown", "cuNoSuchCall", 13000, 0);
  ask("proc_both_flags", "cuMemcpyAsync", 13000, 3);
  ask("proc_bad_flags", "cuMemcpyAsync", 13000, 64);
  ask("proc_per_thread", "cuMemcpyAsync", 13000, 2);
  ask("proc_newer", "cuMemcpyAsync", 14000, 0);
  ask("proc_version_0", "cuMemcpyAsync", 0, 0);
}

void trace_attributes(const Trace& t) {
  start();
  for (int number = 1; number <= 150; ++number) {
    int value = 0;
    const CUresult result =
        CU(cuDeviceGetAttribute)(&value, static_cast<CUdevice_attribute>(number), 0);
    const std::string label = std::to_string(number);
    if (result == CUDA_SUCCESS) {
      t.value(label.c_str(), value);
    } else {
      t.answer(label.c_str(), result);
    }
  }
}

void trace_contexts(const Trace& t) {
  CU(cuInit)(0);
  CUcontext context = nullptr;
  CUcontext other = nullptr;
  CUdeviceptr pointer = 0;
  CUdevice device = 0;
  CUstream stream = nullptr;
  unsigned flags = 99;
  int active = 99;
  unsigned long long id = 0;
  t.answer("alloc_without", CU(cuMemAlloc)(&pointer, 16));
  t.answer("synchronize_without", CU(cuCtxSynchronize)());
  t.answer("stream_without", CU(cuStreamCreate)(&stream, 0));
  t.answer("pop_without", CU(cuCtxPopCurrent)(&other));
  t.answer("device_without", CU(cuCtxGetDevice)(&device));
  t.answer("current_without", CU(cuCtxGetCurrent)(&other));
  t.value("current_without_null", other == nullptr ? 1 : 0);
  t.answer("id_without", CU(cuCtxGetId)(nullptr, &id));
  t.answer("release_unretained", CU(cuDevicePrimaryCtxRelease)(0));
  t.answer("state", CU(cuDevicePrimaryCtxGetState)(0, &flags, &active));
  t.value("state_flags", flags);
  t.value("state_active", active);
  t.answer("retain_99", CU(cuDevicePrimaryCtxRetain)(&context, 99));
  t.answer("retain", CU(cuDevicePrimaryCtxRetain)(&context, 0));
  t.answer("retain_again", CU(cuDevicePrimaryCtxRetain)(&other, 0));
  t.value("same", context == other ? 1 : 0);
  t.answer("current", CU(cuCtxGetCurrent)(&other));
  t.value("retain_leaves_current", other == nullptr ? 1 : 0);
  t.answer("state_retained", CU(cuDevicePrimaryCtxGetState)(0, &flags, &active));
  t.value("state_retained_active", active);
  t.answer("set", CU(cuCtxSetCurrent)(context));
  t.answer("alloc", CU(cuMemAlloc)(&pointer, 16));
  t.answer("push", CU(cuCtxPushCurrent)(context));
  t.answer("pop", CU(cuCtxPopCurrent)(&other));
  t.answer("pop_last", CU(cuCtxPopCurrent)(&other));
  t.answer("pop_empty", CU(cuCtxPopCurrent)(&other));
  t.answer("push_null", CU(cuCtxPushCurrent)(nullptr));
  t.answer("alloc_popped", CU(cuMemAlloc)(&pointer, 16));
  t.answer("create", CU(cuCtxCreate)(&other, nullptr, 0, 0));
  t.answer("create_bad_flags", CU(cuCtxCreate)(&other, nullptr, 0x7fffffff, 0));
  t.answer("create_device_99", CU(cuCtxCreate)(&other, nullptr, 0, 99));
  CU(cuCtxGetCurrent)(&other);
  t.value("create_sets_current", other != nullptr && other != context ? 1 : 0);
  t.answer("destroy_primary", CU(cuCtxDestroy)(context));
  t.answer("destroy", CU(cuCtxDestroy)(other));
  CU(cuCtxGetCurrent)(&other);
  t.value("destroy_pops", other == nullptr ? 1 : 0);
  int low = 99;
  int high = 99;
  CU(cuCtxSetCurrent)(context);
  t.answer("priorities", CU(cuCtxGetStreamPriorityRange)(&low, &high));
  t.value("lowest", low);
  t.value("highest", high);
  t.answer("release", CU(cuDevicePrimaryCtxRelease)(0));
  t.answer("release_last", CU(cuDevicePrimaryCtxRelease)(0));
  t.answer("alloc_released", CU(cuMemAlloc)(&pointer, 16));
  t.answer("set_released", CU(cuCtxSetCurrent)(context));
  t.answer("release_over", CU(cuDevicePrimaryCtxRelease)(0));
}

void trace_memory(const Trace& t) {
  start();
  CUdeviceptr pointer = 0;
  CUdeviceptr base = 0;
  std::size_t size = 0;
  std::size_t total = 0;
  std::array<char, 256> host{};
  t.answer("alloc_0", CU(cuMemAlloc)(&pointer, 0));
  t.answer("alloc_null", CU(cuMemAlloc)(nullptr, 16));
  t.answer("alloc_huge", CU(cuMemAlloc)(&pointer, std::size_t{1} << 50));
  t.answer("free_0", CU(cuMemFree)(0));
  t.answer("free_bad", CU(cuMemFree)(0x12345));
  t.answer("alloc", CU(cuMemAlloc)(&pointer, 256));
  t.value("aligned", static_cast<long long>(pointer % 512));
  t.answer("free_inner", CU(cuMemFree)(pointer + 16));
  t.answer("range", CU(cuMemGetAddressRange)(&base, &size, pointer + 5));
  t.value("range_size", static_cast<long long>(size));
  t.value("range_offset", static_cast<long long>(pointer - base));
  t.answer("range_bad", CU(cuMemGetAddressRange)(&base, &size, 0x12345));
  t.answer("range_nulls", CU(cuMemGetAddressRange)(nullptr, nullptr, pointer));
  t.answer("info", CU(cuMemGetInfo)(&size, &total));
  t.answer("htod", CU(cuMemcpyHtoD)(pointer, host.data(), 256));
  t.answer("htod_0", CU(cuMemcpyHtoD)(pointer, host.data(), 0));
  t.answer("htod_bad", CU(cuMemcpyHtoD)(0x12345, host.data(), 16));
  t.answer("htod_null", CU(cuMemcpyHtoD)(pointer, nullptr, 16));
  t.answer("dtoh", CU(cuMemcpyDtoH)(host.data(), pointer, 256));
  t.answer("dtoh_bad", CU(cuMemcpyDtoH)(host.data(), 0x12345, 16));
  t.answer("dtod_bad", CU(cuMemcpyDtoD)(pointer, 0x12345, 16));
  t.answer("copy", CU(cuMemcpy)(pointer, reinterpret_cast<CUdeviceptr>(host.data()), 16));
  t.answer("set_d8", CU(cuMemsetD8)(pointer, 1, 256));
  t.answer("set_d16_odd", CU(cuMemsetD16)(pointer + 1, 1, 1));
  t.answer("set_d32_odd", CU(cuMemsetD32)(pointer + 2, 1, 1));
  t.answer("set_bad", CU(cuMemsetD8)(0x12345, 1, 16));
  t.answer("set_0", CU(cuMemsetD8)(pointer, 1, 0));
  t.answer("free", CU(cuMemFree)(pointer));
  t.answer("free_twice", CU(cuMemFree)(pointer));
  void* pinned = nullptr;
  t.answer("host", CU(cuMemHostAlloc)(&pinned, 64, 0));
  t.answer("host_free", CU(cuMemFreeHost)(pinned));
  t.answer("host_free_twice", CU(cuMemFreeHost)(pinned));
  t.answer("host_free_other", CU(cuMemFreeHost)(host.data()));
  t.answer("host_0", CU(cuMemAllocHost)(&pinned, 0));
  t.answer("host_bad_flags", CU(cuMemHostAlloc)(&pinned, 64, 0x1000));
  t.answer("async", CU(cuMemAllocAsync)(&pointer, 64, nullptr));
  t.answer("async_free", CU(cuMemFreeAsync)(pointer, nullptr));
  t.answer("async_free_twice", CU(cuMemFreeAsync)(pointer, nullptr));
  t.answer("async_0", CU(cuMemAllocAsync)(&pointer, 0, nullptr));
  CU(cuMemAllocAsync)(&pointer, 64, nullptr);
  t.answer("async_plain_free", CU(cuMemFree)(pointer));
}

void trace_pointers(const Trace& t) {
  CUcontext context = start();
  CUdeviceptr pointer = 0;
  void* pinned = nullptr;
  unsigned long long word = 0;
  char plain = 0;
  CU(cuMemAlloc)(&pointer, 1000);
  CU(cuMemHostAlloc)(&pinned, 64, 0);
  const auto ask = [&](const char* label, CUpointer_attribute which, CUdeviceptr where) {
    word = 0;
    t.answer(label, CU(cuPointerGetAttribute)(&word, which, where));
  };
  const auto host = reinterpret_cast<CUdeviceptr>(&plain);
  ask("type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer + 7);
  t.value("type_value", static_cast<long long>(word));
  ask("type_pinned", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(pinned));
  t.value("type_pinned_value", static_cast<long long>(word));
  ask("type_plain", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host);
  ask("type_0", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0);
  ask("context", CU_POINTER_ATTRIBUTE_CONTEXT, pointer);
  t.value("context_same", word == reinterpret_cast<unsigned long long>(context) ? 1 : 0);
  ask("ordinal", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer);
  ask("ordinal_plain", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, host);
  ask("start", CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, pointer + 7);
  t.value("start_offset", static_cast<long long>(pointer - word));
  ask("size", CU_POINTER_ATTRIBUTE_RANGE_SIZE, pointer + 7);
  t.value("size_value", static_cast<long long>(word));
  ask("device_pointer", CU_POINTER_ATTRIBUTE_DEVICE_POINTER, pointer + 7);
  ask("host_pointer", CU_POINTER_ATTRIBUTE_HOST_POINTER, pointer);
  ask("host_pointer_pinned", CU_POINTER_ATTRIBUTE_HOST_POINTER,
      reinterpret_cast<CUdeviceptr>(pinned));
  ask("managed", CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer);
  ask("mapped", CU_POINTER_ATTRIBUTE_MAPPED, pointer);
  ask("bad_attribute", foreign<CUpointer_attribute>(999), pointer);
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT};
  unsigned type = 77;
  int ordinal = 77;
  CUcontext owner = nullptr;
  void* out[] = {&type, &ordinal, &owner};
  t.answer("several", CU(cuPointerGetAttributes)(3, which, out, pointer));
  t.value("several_type", type);
  t.value("several_ordinal", ordinal);
  type = 77;
  ordinal = 77;
  t.answer("several_plain", CU(cuPointerGetAttributes)(3, which, out, host));
  t.value("several_plain_type", type);
  t.value("several_plain_ordinal", ordinal);
  t.value("several_plain_context", owner == nullptr ? 0 : 1);
  CU(cuMemFree)(pointer);
  ask("type_freed", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
}

}  // namespace quantjit::simtest

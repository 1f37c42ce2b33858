// SPDX-License-Identifier: Apache-2.0
// Source of the fake driver libraries. Compile definitions make the variants:
//   QUANTJIT_FAKE_VERSION   what cuDriverGetVersion says
//   QUANTJIT_FAKE_DEVICES   number of devices
//   QUANTJIT_FAKE_MISSING   an entry point that the lookup does not find
//   QUANTJIT_FAKE_PLAIN     no versioned lookup, as in a simple substitute library
//   QUANTJIT_FAKE_PTX       asks for PTX
#include "src/driver/driver_table.hpp"
#include "tests/support/fake_driver_state.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#ifndef QUANTJIT_FAKE_VERSION
#define QUANTJIT_FAKE_VERSION 13000
#endif
#ifndef QUANTJIT_FAKE_DEVICES
#define QUANTJIT_FAKE_DEVICES 2
#endif
#ifndef QUANTJIT_FAKE_MISSING
#define QUANTJIT_FAKE_MISSING ""
#endif

using namespace quantjit::test;  // the entry points below have to be outside any namespace

namespace {

CUctx_st contexts[2] = {{0}, {1}};
thread_local std::vector<CUctx_st*> context_stack;

}  // namespace

namespace quantjit::test {

FakeRecord& record() {
  static auto* const instance = new FakeRecord;  // still read while the process exits
  return *instance;
}

CUresult enter(const char* name) {
  FakeRecord& r = record();
  const std::lock_guard lock(r.mutex);
  ++r.calls[name];
  if (r.context_bound.count(name) != 0 && current_context() == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  const auto found = r.forced_result.find(name);
  return found == r.forced_result.end() ? CUDA_SUCCESS : static_cast<CUresult>(found->second);
}

CUctx_st* current_context() {
  return context_stack.empty() ? nullptr : context_stack.back();
}

}  // namespace quantjit::test

extern "C" __attribute__((visibility("default"))) FakeRecord* fake_record() {
  return &record();
}

#ifdef QUANTJIT_FAKE_PTX
extern "C" __attribute__((visibility("default"))) const int qj_wants_ptx = 1;
#endif

FAKE(cuDriverGetVersion)(int* version) {
  *version = QUANTJIT_FAKE_VERSION;
  return CUDA_SUCCESS;
}

FAKE(cuInit)(unsigned) {
  ENTER(cuInit)
  return QUANTJIT_FAKE_DEVICES == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

FAKE(cuGetErrorName)(CUresult code, const char** name) {
  static const std::map<int, const char*> names = {{1, "CUDA_ERROR_INVALID_VALUE"},
                                                   {100, "CUDA_ERROR_NO_DEVICE"},
                                                   {201, "CUDA_ERROR_INVALID_CONTEXT"},
                                                   {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                                   {218, "CUDA_ERROR_INVALID_PTX"},
                                                   {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
                                                   {500, "CUDA_ERROR_NOT_FOUND"},
                                                   {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                   {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
                                                   {800, "CUDA_ERROR_NOT_PERMITTED"},
                                                   {999, "CUDA_ERROR_UNKNOWN"}};
  const auto found = names.find(code);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

FAKE(cuDeviceGetCount)(int* count) {
  ENTER(cuDeviceGetCount)
  *count = QUANTJIT_FAKE_DEVICES;
  return CUDA_SUCCESS;
}

FAKE(cuDeviceGet)(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

FAKE(cuDeviceGetName)(char* name, int size, CUdevice device) {
  std::strncpy(name, device == 0 ? "Fake H" : "Fake B", static_cast<std::size_t>(size));
  return CUDA_SUCCESS;
}

FAKE(cuDeviceGetPCIBusId)(char*, int, CUdevice) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

FAKE(cuDeviceGetAttribute)(int* value, CUdevice_attribute which, CUdevice device) {
  ENTER(cuDeviceGetAttribute)
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = device == 0 ? 9 : 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = device == 0 ? 0 : 3; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = device == 0 ? 132 : 148; break;
    default: *value = 1000 + static_cast<int>(which); break;
  }
  return CUDA_SUCCESS;
}

FAKE(cuDeviceTotalMem)(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{1} << 37U;
  return CUDA_SUCCESS;
}

FAKE(cuDevicePrimaryCtxRetain)(CUcontext* context, CUdevice device) {
  ENTER(cuDevicePrimaryCtxRetain)
  *context = &contexts[device];
  return change([&](FakeRecord& r) { ++r.retained[device]; });
}

FAKE(cuCtxGetCurrent)(CUcontext* context) {
  ENTER(cuCtxGetCurrent)
  *context = current_context();
  return CUDA_SUCCESS;
}

FAKE(cuCtxGetDevice)(CUdevice* device) {
  ENTER(cuCtxGetDevice)
  if (current_context() == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *device = current_context()->device;
  return CUDA_SUCCESS;
}

FAKE(cuCtxPushCurrent)(CUcontext context) {
  ENTER(cuCtxPushCurrent)
  context_stack.push_back(context);
  return CUDA_SUCCESS;
}

FAKE(cuCtxPopCurrent)(CUcontext* context) {
  ENTER(cuCtxPopCurrent)
  if (context_stack.empty()) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *context = context_stack.back();
  context_stack.pop_back();
  return CUDA_SUCCESS;
}

FAKE(cuLibraryLoadData)

(CUlibrary* library, const void* image, CUjit_option* options, void** values, unsigned option_count,
 CUlibraryOption*, void**, unsigned) {
  FakeRecord& r = record();
  for (unsigned index = 0; index < option_count; ++index) {
    if (options[index] == CU_JIT_ERROR_LOG_BUFFER) {
      std::strcpy(static_cast<char*>(values[index]), r.jit_log.c_str());
    }
  }
  ENTER(cuLibraryLoadData)
  return change([&](FakeRecord& locked) {
    // Only text ends with a NUL.
    const char* const text = option_count > 0 ? static_cast<const char*>(image) : "";
    locked.libraries.push_back({image, text, option_count, true});
    *library = reinterpret_cast<CUlibrary>(locked.libraries.size());
  });
}

FAKE(cuLibraryUnload)(CUlibrary library) {
  ENTER(cuLibraryUnload)
  return change([&](FakeRecord& r) {
    r.libraries.at(reinterpret_cast<std::size_t>(library) - 1).loaded = false;
  });
}

FAKE(cuLibraryGetKernel)(CUkernel* kernel, CUlibrary, const char* name) {
  ENTER(cuLibraryGetKernel)
  *kernel = any_handle<CUkernel>();
  return std::strcmp(name, "present") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

FAKE(cuLibraryGetKernelCount)(unsigned* count, CUlibrary) {
  *count = 1;
  return CUDA_SUCCESS;
}

FAKE(cuKernelGetFunction)(CUfunction* function, CUkernel kernel) {
  ENTER(cuKernelGetFunction)
  *function = reinterpret_cast<CUfunction>(kernel);
  return current_context() == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

FAKE(cuKernelGetAttribute)(int* value, CUfunction_attribute which, CUkernel, CUdevice device) {
  ENTER(cuKernelGetAttribute)
  *value = 100 * (device + 1) + static_cast<int>(which);
  return CUDA_SUCCESS;
}

FAKE(cuKernelSetAttribute)(CUfunction_attribute which, int value, CUkernel, CUdevice) {
  ENTER(cuKernelSetAttribute)
  if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return change([&](FakeRecord& r) { r.dynamic_shared_limit = value; });
}

FAKE(cuKernelGetParamInfo)(CUkernel, std::size_t index, std::size_t* offset, std::size_t* size) {
  if (index != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *offset = 0;
  return change([&](FakeRecord& r) { *size = r.parameter_bytes; });
}

FAKE(cuLaunchKernelEx)

(const CUlaunchConfig* config, CUfunction function, void** parameters, void**) {
  ENTER(cuLaunchKernelEx)
  FakeLaunch launch;
  launch.config = *config;
  launch.attributes.assign(config->attrs, config->attrs + config->numAttrs);
  launch.function = function;
  launch.current_device = current_context() == nullptr ? -1 : current_context()->device;
  std::memcpy(&launch.parameter, parameters[0], sizeof(launch.parameter));
  return change([&](FakeRecord& r) { r.launches.push_back(std::move(launch)); });
}

#ifndef QUANTJIT_FAKE_PLAIN
FAKE(cuGetProcAddress)

(const char* name, void** address, int version, cuuint64_t,
 CUdriverProcAddressQueryResult* status) {
  struct Known {
    const char* name;
    void* address;
  };

#define QUANTJIT_KNOWN(symbol, since) {#symbol, reinterpret_cast<void*>(&::symbol)},
  static const Known known[] = {QUANTJIT_DRIVER_SYMBOLS(QUANTJIT_KNOWN, QUANTJIT_KNOWN)};
#undef QUANTJIT_KNOWN
  const auto* const found =
      std::find_if(std::begin(known), std::end(known),
                   [name](const Known& entry) { return std::strcmp(entry.name, name) == 0; });
  const bool offered = found != std::end(known) && std::strcmp(name, QUANTJIT_FAKE_MISSING) != 0;
  *address = offered ? found->address : nullptr;
  *status = offered ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return change([&](FakeRecord& r) { r.asked_version[name] = version; });
}
#endif

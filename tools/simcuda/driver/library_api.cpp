// SPDX-License-Identifier: Apache-2.0
// cuLibrary* and cuModule*.
#include "capture.hpp"
#include "library.hpp"
#include "registry.hpp"

#include <algorithm>
#include <cstring>

using namespace quantjit::simdriver;

namespace {

/// The buffers that a caller gave for the loader's messages.
struct LogBuffers {
  char* error = nullptr;
  std::size_t error_size = 0;
  void** error_size_slot = nullptr;
};

LogBuffers find_log_buffers(const CUjit_option* keys, void** values, unsigned count) {
  require(count == 0 || (keys != nullptr && values != nullptr));
  LogBuffers buffers;
  for (unsigned i = 0; i < count; ++i) {
    if (keys[i] == CU_JIT_ERROR_LOG_BUFFER) {
      buffers.error = static_cast<char*>(values[i]);
    } else if (keys[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
      // The driver API packs the number into the pointer, in 32 bits.
      buffers.error_size = reinterpret_cast<std::uintptr_t>(values[i]) & 0xffffffffu;
      buffers.error_size_slot = &values[i];
    }
  }
  return buffers;
}

void write_log(const LogBuffers& buffers, const std::string& log) {
  if (buffers.error == nullptr || buffers.error_size == 0) {
    return;
  }
  const std::size_t count = std::min(log.size(), buffers.error_size - 1);
  std::memcpy(buffers.error, log.data(), count);
  buffers.error[count] = 0;
  *buffers.error_size_slot = reinterpret_cast<void*>(static_cast<std::uintptr_t>(count));
}

CUlibrary load_logged(const void* code, const CUjit_option* keys, void** values, unsigned count) {
  require(code != nullptr);
  const LogBuffers buffers = find_log_buffers(keys, values, count);
  std::string log;
  try {
    const CUlibrary library = load_image(code, log);
    write_log(buffers, log);
    return library;
  } catch (const Failure&) {
    write_log(buffers, log);
    throw;
  }
}

CUkernel kernel_named(const Library& library, const char* name) {
  require(name != nullptr);
  const auto found = library.kernels.find(std::string_view(name));
  require(found != library.kernels.end(), CUDA_ERROR_NOT_FOUND);
  return found->second;
}

CUmodule load_module(const void* code, unsigned count, const CUjit_option* keys, void** values) {
  Context& context = current_context();
  const CUlibrary library = load_logged(code, keys, values, count);
  try {
    require_target(*lookup(registry().libraries, library), context.device);
  } catch (const Failure&) {
    unload_library(library);
    throw;
  }
  auto module = std::make_shared<LoadedModule>();
  module->library = library;
  module->context = context.shared_from_this();
  return registry().modules.add(std::move(module));
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuLibraryLoadData(CUlibrary* out, const void* code,
                                               CUjit_option* jit_keys, void** jit_values,
                                               unsigned int jit_count,
                                               CUlibraryOption* /*library_keys*/,
                                               void** /*library_values*/,
                                               unsigned int /*library_count*/) {
  return guard([&] {
    require_initialized();
    require(out != nullptr);
    *out = load_logged(code, jit_keys, jit_values, jit_count);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuLibraryUnload(CUlibrary library) {
  return guard([&] {
    require_initialized();
    require(registry().libraries.find(library) != nullptr, CUDA_ERROR_INVALID_HANDLE);
    forbid_unsafe_call();
    require(unload_library(library), CUDA_ERROR_INVALID_HANDLE);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle,
                                                const char* name) {
  return guard([&] {
    require_initialized();
    const auto library = lookup(registry().libraries, handle);
    require(kernel != nullptr);
    const auto& stack = context_stack();
    if (!stack.empty() && stack.back() != nullptr) {
      require_target(*library, stack.back()->device);
    }
    *kernel = kernel_named(*library, name);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary handle) {
  return guard([&] {
    require_initialized();
    const auto library = lookup(registry().libraries, handle);
    require(count != nullptr);
    *count = static_cast<unsigned>(library->kernels.size());
  });
}

QUANTJIT_SIM_EXPORT CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count,
                                                       CUlibrary handle) {
  return guard([&] {
    require_initialized();
    const auto library = lookup(registry().libraries, handle);
    require(count == 0 || kernels != nullptr);
    auto entry = library->kernels.begin();
    for (unsigned i = 0; i < count && entry != library->kernels.end(); ++i, ++entry) {
      kernels[i] = entry->second;
    }
  });
}

QUANTJIT_SIM_EXPORT CUresult cuLibraryGetModule(CUmodule* out, CUlibrary handle) {
  return guard([&] {
    Context& context = current_context();
    require_target(*lookup(registry().libraries, handle), context.device);
    require(out != nullptr);
    auto module = std::make_shared<LoadedModule>();
    module->library = handle;
    module->context = context.shared_from_this();
    *out = registry().modules.add(std::move(module));
  });
}

QUANTJIT_SIM_EXPORT CUresult cuModuleLoadData(CUmodule* out, const void* code) {
  return guard([&] {
    current_context();
    require(out != nullptr);
    *out = load_module(code, 0, nullptr, nullptr);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuModuleLoadDataEx(CUmodule* out, const void* code, unsigned int count,
                                                CUjit_option* keys, void** values) {
  return guard([&] {
    current_context();
    require(out != nullptr);
    *out = load_module(code, count, keys, values);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuModuleUnload(CUmodule handle) {
  return guard([&] {
    current_context();
    require(registry().modules.find(handle) != nullptr, CUDA_ERROR_INVALID_HANDLE);
    forbid_unsafe_call();
    const auto module = registry().modules.take(handle);
    require(module != nullptr, CUDA_ERROR_INVALID_HANDLE);
    unload_library(module->library);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle,
                                                 const char* name) {
  return guard([&] {
    current_context();
    const auto module = lookup(registry().modules, handle);
    const auto library = lookup(registry().libraries, module->library);
    require(function != nullptr);
    const CUkernel kernel = kernel_named(*library, name);
    *function = function_of(lookup(registry().kernels, kernel), *module->context);
  });
}

// SPDX-License-Identifier: Apache-2.0
// cuDevicePrimaryCtx* and cuCtx*.
#include "capture.hpp"
#include "context.hpp"
#include "registry.hpp"
#include "stream.hpp"

using namespace quantjit::simdriver;

namespace {

constexpr unsigned kKnownContextFlags = CU_CTX_FLAGS_MASK;
constexpr int kLowestPriority = 0;
constexpr int kHighestPriority = -5;

std::shared_ptr<Context> find_context(CUcontext handle) {
  auto context = registry().contexts.find(handle);
  require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  return context;
}

void create_context(CUcontext* out, unsigned flags, CUdevice ordinal) {
  Device& device = device_at(ordinal);
  require(out != nullptr && (flags & ~kKnownContextFlags) == 0 &&
          (flags & CU_CTX_SCHED_MASK) <= CU_CTX_SCHED_BLOCKING_SYNC);
  auto context = Context::create(device, flags, false);
  *out = context->handle;
  context_stack().push_back(std::move(context));
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice ordinal) {
  return guard([&] {
    Device& device = device_at(ordinal);
    require(out != nullptr);
    const std::lock_guard lock(device.primary_mutex);
    if (device.primary == nullptr) {
      device.primary = Context::create(device, 0, true)->handle;
    } else if (device.primary_references == 0) {
      const auto context = find_context(device.primary);
      context->require_no_fault();  // a fault outlives the context, as on hardware
      context->open();
    }
    ++device.primary_references;
    *out = device.primary;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  return guard([&] {
    Device& device = device_at(ordinal);
    const std::lock_guard lock(device.primary_mutex);
    require(device.primary_references > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (--device.primary_references == 0) {
      find_context(device.primary)->close();
    }
  });
}

QUANTJIT_SIM_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int* flags,
                                                        int* active) {
  return guard([&] {
    Device& device = device_at(ordinal);
    require(flags != nullptr && active != nullptr);
    const std::lock_guard lock(device.primary_mutex);
    *flags = 0;
    *active = device.primary_references > 0 ? 1 : 0;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags,
                                            CUdevice device) {
  return guard([&] { create_context(context, flags, device); });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters,
                                            unsigned int flags, CUdevice device) {
  return guard([&] {
    require(parameters == nullptr ||
                (parameters->numExecAffinityParams == 0 && parameters->cigParams == nullptr),
            CUDA_ERROR_NOT_SUPPORTED);
    create_context(context, flags, device);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxDestroy_v2(CUcontext handle) {
  return guard([&] {
    require_initialized();
    const auto context = find_context(handle);
    require(!context->primary && registry().contexts.take(handle) != nullptr,
            CUDA_ERROR_INVALID_CONTEXT);
    auto& stack = context_stack();
    if (!stack.empty() && stack.back() == context) {
      stack.pop_back();
    }
    context->close();
  });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxGetCurrent(CUcontext* out) {
  return guard([&] {
    require_initialized();
    require(out != nullptr);
    const auto& stack = context_stack();
    *out = stack.empty() || stack.back() == nullptr ? nullptr : stack.back()->handle;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxSetCurrent(CUcontext handle) {
  return guard([&] {
    require_initialized();
    auto& stack = context_stack();
    if (handle == nullptr) {
      if (!stack.empty()) {
        stack.pop_back();
      }
      return;
    }
    auto context = find_context(handle);
    if (stack.empty()) {
      stack.push_back(std::move(context));
    } else {
      stack.back() = std::move(context);
    }
  });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  return guard([&] {
    require_initialized();
    require(handle != nullptr);
    context_stack().push_back(find_context(handle));
  });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* out) {
  return guard([&] {
    require_initialized();
    auto& stack = context_stack();
    require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT);
    if (out != nullptr) {
      *out = stack.back()->handle;
    }
    stack.pop_back();
  });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
  return guard([&] {
    const Context& context = current_context_even_failed();
    require(device != nullptr);
    *device = context.device.ordinal;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return guard([&] {
    require_initialized();
    require(id != nullptr);
    *id = handle == nullptr ? current_context_even_failed().id : find_context(handle)->id;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxGetFlags(unsigned int* flags) {
  return guard([&] {
    const Context& context = current_context_even_failed();
    require(flags != nullptr);
    *flags = context.flags;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
  return guard([&] {
    require_initialized();
    require(version != nullptr);
    if (handle != nullptr) {
      find_context(handle);
    }
    *version = 3020;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxSynchronize() {
  return guard([&] {
    Context& context = current_context();
    forbid_synchronizing(context);
    context.synchronize();
  });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxGetStreamPriorityRange(int* lowest, int* highest) {
  return guard([&] {
    const Context& context = current_context();
    context.require_usable();
    if (lowest != nullptr) {
      *lowest = kLowestPriority;
    }
    if (highest != nullptr) {
      *highest = kHighestPriority;
    }
  });
}

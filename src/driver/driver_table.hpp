// SPDX-License-Identifier: Apache-2.0
// The driver's entry points as one table, and what is remembered per device. Private to this
// module: the only header that needs cuda.h.
#pragma once

#include "src/driver/device.hpp"

#include <cuda.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

/// Every entry point with the CUDA version whose form of it is meant: required ones, then those
/// that newer drivers add and that are null without them.
#define QUANTJIT_DRIVER_SYMBOLS(REQUIRED, OPTIONAL)  \
  REQUIRED(cuInit, 2000)                             \
  REQUIRED(cuGetErrorName, 6000)                     \
  REQUIRED(cuDeviceGetCount, 2000)                   \
  REQUIRED(cuDeviceGet, 2000)                        \
  REQUIRED(cuDeviceGetName, 2000)                    \
  REQUIRED(cuDeviceGetAttribute, 2000)               \
  REQUIRED(cuDeviceGetPCIBusId, 4010)                \
  REQUIRED(cuDeviceTotalMem, 3020)                   \
  REQUIRED(cuDevicePrimaryCtxRetain, 7000)           \
  REQUIRED(cuCtxGetCurrent, 4000)                    \
  REQUIRED(cuCtxGetDevice, 2000)                     \
  REQUIRED(cuCtxPushCurrent, 4000)                   \
  REQUIRED(cuCtxPopCurrent, 4000)                    \
  REQUIRED(cuMemGetInfo, 3020)                       \
  REQUIRED(cuMemAlloc, 3020)                         \
  REQUIRED(cuMemFree, 3020)                          \
  REQUIRED(cuMemAllocAsync, 11020)                   \
  REQUIRED(cuMemFreeAsync, 11020)                    \
  REQUIRED(cuMemcpyHtoD, 3020)                       \
  REQUIRED(cuMemcpyDtoH, 3020)                       \
  REQUIRED(cuMemcpyDtoDAsync, 3020)                  \
  REQUIRED(cuMemsetD8, 3020)                         \
  REQUIRED(cuMemsetD8Async, 3020)                    \
  REQUIRED(cuPointerGetAttribute, 4000)              \
  REQUIRED(cuLibraryLoadData, 12000)                 \
  REQUIRED(cuLibraryUnload, 12000)                   \
  REQUIRED(cuLibraryGetKernel, 12000)                \
  REQUIRED(cuKernelGetFunction, 12000)               \
  REQUIRED(cuKernelGetAttribute, 12000)              \
  REQUIRED(cuKernelSetAttribute, 12000)              \
  REQUIRED(cuLaunchKernelEx, 11060)                  \
  REQUIRED(cuStreamCreate, 2000)                     \
  REQUIRED(cuStreamDestroy, 4000)                    \
  REQUIRED(cuStreamSynchronize, 2000)                \
  REQUIRED(cuStreamGetCtx, 9020)                     \
  REQUIRED(cuStreamIsCapturing, 10000)               \
  REQUIRED(cuStreamBeginCapture, 10010)              \
  REQUIRED(cuStreamEndCapture, 10000)                \
  REQUIRED(cuThreadExchangeStreamCaptureMode, 10010) \
  REQUIRED(cuEventCreate, 2000)                      \
  REQUIRED(cuEventDestroy, 4000)                     \
  REQUIRED(cuEventRecord, 2000)                      \
  REQUIRED(cuEventSynchronize, 2000)                 \
  REQUIRED(cuEventElapsedTime, 2000)                 \
  REQUIRED(cuGraphInstantiateWithFlags, 11040)       \
  REQUIRED(cuGraphGetNodes, 10000)                   \
  REQUIRED(cuGraphLaunch, 10000)                     \
  REQUIRED(cuGraphExecDestroy, 10000)                \
  REQUIRED(cuGraphDestroy, 10000)                    \
  OPTIONAL(cuKernelGetParamInfo, 12040)              \
  OPTIONAL(cuLibraryGetKernelCount, 12040)

namespace quantjit::driver {

/// One member per entry point, under the name that cuda.h's macros give it.
struct DriverTable {
// NOLINTNEXTLINE(bugprone-macro-parentheses): the argument is declared, not used
#define QUANTJIT_MEMBER(name, version) decltype(&::name) name = nullptr;
  QUANTJIT_DRIVER_SYMBOLS(QUANTJIT_MEMBER, QUANTJIT_MEMBER)
#undef QUANTJIT_MEMBER
};

/// What is remembered per device. Read without a lock, since every launch may look.
struct DeviceSlots {
  struct Slot {
    std::optional<DeviceInfo> info;                     // written once, before `described`
    std::atomic<const DeviceInfo*> described{nullptr};  // &*info once it is there
    std::atomic<CUcontext> primary{nullptr};            // retained until the process ends
  };

  explicit DeviceSlots(int device_count)
      : count(device_count),
        all(std::make_unique<Slot[]>(static_cast<std::size_t>(device_count))) {}

  [[nodiscard]] Slot& at(int ordinal) const { return all[static_cast<std::size_t>(ordinal)]; }

  const int count;
  const std::unique_ptr<Slot[]> all;
  std::mutex mutex;  // held while a slot is filled
};

}  // namespace quantjit::driver

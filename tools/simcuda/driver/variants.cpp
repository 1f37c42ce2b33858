// SPDX-License-Identifier: Apache-2.0
// Other versions of entry points, each in terms of the newest.
#include "variants.hpp"

#include "capture.hpp"
#include "context.hpp"
#include "registry.hpp"

using namespace quantjit::simdriver;

namespace {

/// The context that a versioned context call means: null is the current one.
Context& chosen_context(CUcontext handle) {
  if (handle == nullptr) {
    return current_context_even_failed();
  }
  require_initialized();
  const auto context = registry().contexts.find(handle);
  require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  return *context;  // the table and the caller keep it alive
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return cuDeviceGetUuid_v2(uuid, device);
}

QUANTJIT_SIM_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return cuDevicePrimaryCtxRelease_v2(device);
}

QUANTJIT_SIM_EXPORT CUresult cuCtxDestroy(CUcontext context) {
  return cuCtxDestroy_v2(context);
}

QUANTJIT_SIM_EXPORT CUresult cuCtxPopCurrent(CUcontext* context) {
  return cuCtxPopCurrent_v2(context);
}

QUANTJIT_SIM_EXPORT CUresult cuCtxPushCurrent(CUcontext context) {
  return cuCtxPushCurrent_v2(context);
}

QUANTJIT_SIM_EXPORT CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  return guard([&] {
    const Context& context = chosen_context(handle);
    require(device != nullptr);
    *device = context.device.ordinal;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuCtxSynchronize_v2(CUcontext handle) {
  return guard([&] {
    Context& context = chosen_context(handle);
    context.require_usable();
    forbid_synchronizing(context);
    context.synchronize();
  });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamDestroy(CUstream stream) {
  return cuStreamDestroy_v2(stream);
}

QUANTJIT_SIM_EXPORT CUresult cuEventDestroy(CUevent event) {
  return cuEventDestroy_v2(event);
}

QUANTJIT_SIM_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

QUANTJIT_SIM_EXPORT CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context,
                                               CUgreenCtx* green) {
  if (green != nullptr) {
    *green = nullptr;
  }
  return cuStreamGetCtx(stream, context);
}

QUANTJIT_SIM_EXPORT CUresult cuStreamBeginCapture(CUstream stream) {
  return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

QUANTJIT_SIM_EXPORT CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status,
                                                    cuuint64_t* id) {
  return cuStreamGetCaptureInfo_v2(stream, status, id, nullptr, nullptr, nullptr);
}

QUANTJIT_SIM_EXPORT CUresult cuGraphInstantiate(CUgraphExec* executable, CUgraph graph,
                                                CUgraphNode* error_node, char* log,
                                                size_t log_size) {
  if (error_node != nullptr) {
    *error_node = nullptr;
  }
  if (log != nullptr && log_size > 0) {
    *log = 0;
  }
  return cuGraphInstantiateWithFlags(executable, graph, 0);
}

QUANTJIT_SIM_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec* executable, CUgraph graph,
                                                   CUgraphNode* error_node, char* log,
                                                   size_t log_size) {
  return cuGraphInstantiate(executable, graph, error_node, log, log_size);
}

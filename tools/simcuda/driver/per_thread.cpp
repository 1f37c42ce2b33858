// SPDX-License-Identifier: Apache-2.0
// The forms of the entry points in which a null stream is the calling thread's own default stream.
#include "stream.hpp"
#include "variants.hpp"

namespace {

/// Calls `function` with the meaning of a null stream changed.
template <class Function, class... Arguments>
CUresult on_own_stream(Function* function, Arguments... arguments) {
  const quantjit::simdriver::PerThreadDefault scope;
  return function(arguments...);
}

}  // namespace

// One line each: the compiler checks the parameters against the declaration made from the plain
// form.
#define QUANTJIT_SIM_DEFINE(name, suffix, parameters, ...) \
  QUANTJIT_SIM_EXPORT CUresult name##suffix parameters {   \
    return on_own_stream(&name, __VA_ARGS__);              \
  }

QUANTJIT_SIM_DEFINE(cuMemcpy, _ptds, (CUdeviceptr a, CUdeviceptr b, size_t n), a, b, n)
QUANTJIT_SIM_DEFINE(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr a, const void* b, size_t n), a, b, n)
QUANTJIT_SIM_DEFINE(cuMemcpyDtoH_v2, _ptds, (void* a, CUdeviceptr b, size_t n), a, b, n)
QUANTJIT_SIM_DEFINE(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr a, CUdeviceptr b, size_t n), a, b, n)
QUANTJIT_SIM_DEFINE(cuMemsetD8_v2, _ptds, (CUdeviceptr a, unsigned char v, size_t n), a, v, n)
QUANTJIT_SIM_DEFINE(cuMemsetD16_v2, _ptds, (CUdeviceptr a, unsigned short v, size_t n), a, v, n)
QUANTJIT_SIM_DEFINE(cuMemsetD32_v2, _ptds, (CUdeviceptr a, unsigned int v, size_t n), a, v, n)
QUANTJIT_SIM_DEFINE(cuMemcpyAsync, _ptsz, (CUdeviceptr a, CUdeviceptr b, size_t n, CUstream s), a,
                    b, n, s)
QUANTJIT_SIM_DEFINE(cuMemcpyHtoDAsync_v2, _ptsz,
                    (CUdeviceptr a, const void* b, size_t n, CUstream s), a, b, n, s)
QUANTJIT_SIM_DEFINE(cuMemcpyDtoHAsync_v2, _ptsz, (void* a, CUdeviceptr b, size_t n, CUstream s), a,
                    b, n, s)
QUANTJIT_SIM_DEFINE(cuMemcpyDtoDAsync_v2, _ptsz,
                    (CUdeviceptr a, CUdeviceptr b, size_t n, CUstream s), a, b, n, s)
QUANTJIT_SIM_DEFINE(cuMemsetD8Async, _ptsz, (CUdeviceptr a, unsigned char v, size_t n, CUstream s),
                    a, v, n, s)
QUANTJIT_SIM_DEFINE(cuMemsetD16Async, _ptsz,
                    (CUdeviceptr a, unsigned short v, size_t n, CUstream s), a, v, n, s)
QUANTJIT_SIM_DEFINE(cuMemsetD32Async, _ptsz, (CUdeviceptr a, unsigned int v, size_t n, CUstream s),
                    a, v, n, s)
QUANTJIT_SIM_DEFINE(cuMemAllocAsync, _ptsz, (CUdeviceptr * a, size_t n, CUstream s), a, n, s)
QUANTJIT_SIM_DEFINE(cuMemFreeAsync, _ptsz, (CUdeviceptr a, CUstream s), a, s)
QUANTJIT_SIM_DEFINE(cuStreamGetPriority, _ptsz, (CUstream s, int* out), s, out)
QUANTJIT_SIM_DEFINE(cuStreamGetId, _ptsz, (CUstream s, unsigned long long* out), s, out)
QUANTJIT_SIM_DEFINE(cuStreamGetFlags, _ptsz, (CUstream s, unsigned int* out), s, out)
QUANTJIT_SIM_DEFINE(cuStreamGetDevice, _ptsz, (CUstream s, CUdevice* out), s, out)
QUANTJIT_SIM_DEFINE(cuStreamGetCtx, _ptsz, (CUstream s, CUcontext* out), s, out)
QUANTJIT_SIM_DEFINE(cuStreamGetCtx_v2, _ptsz, (CUstream s, CUcontext* out, CUgreenCtx* green), s,
                    out, green)
QUANTJIT_SIM_DEFINE(cuStreamWaitEvent, _ptsz, (CUstream s, CUevent e, unsigned int f), s, e, f)
QUANTJIT_SIM_DEFINE(cuStreamBeginCapture, _ptsz, (CUstream s), s)
QUANTJIT_SIM_DEFINE(cuStreamBeginCapture_v2, _ptsz, (CUstream s, CUstreamCaptureMode m), s, m)
QUANTJIT_SIM_DEFINE(cuStreamEndCapture, _ptsz, (CUstream s, CUgraph* out), s, out)
QUANTJIT_SIM_DEFINE(cuStreamIsCapturing, _ptsz, (CUstream s, CUstreamCaptureStatus* out), s, out)
QUANTJIT_SIM_DEFINE(cuStreamGetCaptureInfo, _ptsz,
                    (CUstream s, CUstreamCaptureStatus* out, cuuint64_t* id), s, out, id)
QUANTJIT_SIM_DEFINE(cuStreamGetCaptureInfo_v2, _ptsz,
                    (CUstream s, CUstreamCaptureStatus* out, cuuint64_t* id, CUgraph* g,
                     const CUgraphNode** d, size_t* n),
                    s, out, id, g, d, n)
QUANTJIT_SIM_DEFINE(cuStreamGetCaptureInfo_v3, _ptsz,
                    (CUstream s, CUstreamCaptureStatus* out, cuuint64_t* id, CUgraph* g,
                     const CUgraphNode** d, const CUgraphEdgeData** e, size_t* n),
                    s, out, id, g, d, e, n)
QUANTJIT_SIM_DEFINE(cuStreamQuery, _ptsz, (CUstream s), s)
QUANTJIT_SIM_DEFINE(cuStreamSynchronize, _ptsz, (CUstream s), s)
QUANTJIT_SIM_DEFINE(cuEventRecord, _ptsz, (CUevent e, CUstream s), e, s)
QUANTJIT_SIM_DEFINE(cuEventRecordWithFlags, _ptsz, (CUevent e, CUstream s, unsigned int f), e, s, f)
QUANTJIT_SIM_DEFINE(cuLaunchKernel, _ptsz,
                    (CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                     unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                     CUstream s, void** p, void** x),
                    f, gx, gy, gz, bx, by, bz, shared, s, p, x)
QUANTJIT_SIM_DEFINE(cuLaunchKernelEx, _ptsz,
                    (const CUlaunchConfig* c, CUfunction f, void** p, void** x), c, f, p, x)
QUANTJIT_SIM_DEFINE(cuLaunchHostFunc, _ptsz, (CUstream s, CUhostFn f, void* data), s, f, data)
QUANTJIT_SIM_DEFINE(cuGraphLaunch, _ptsz, (CUgraphExec g, CUstream s), g, s)
QUANTJIT_SIM_DEFINE(cuGraphUpload, _ptsz, (CUgraphExec g, CUstream s), g, s)

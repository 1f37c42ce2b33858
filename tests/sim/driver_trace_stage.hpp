// SPDX-License-Identifier: Apache-2.0
// What the trace's stream, capture and graph sections start from.
#pragma once

#include "driver_trace.hpp"

namespace quantjit::simtest {

/// A context, a stream, a loaded kernel that ran once, and a zeroed buffer.
struct Stage {
  CUcontext context = start();
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr data = 0;
  unsigned count = 64;
  void* parameters[2] = {&data, &count};

  explicit Stage(unsigned flags = CU_STREAM_DEFAULT) {
    CU(cuLibraryLoadData)(&library, kTracePtx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    CU(cuLibraryGetKernel)(&kernel, library, "add_one");
    CU(cuKernelGetFunction)(&function, kernel);
    CU(cuStreamCreate)(&stream, flags);
    CU(cuMemAlloc)(&data, 4096);
    CU(cuMemsetD8)(data, 0, 4096);
    launch(nullptr);
    CU(cuCtxSynchronize)();
  }

  CUresult launch(CUstream where) {
    return CU(cuLaunchKernel)(function, 1, 1, 1, 64, 1, 1, 0, where, parameters, nullptr);
  }

  CUresult begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    return CU(cuStreamBeginCapture)(stream, mode);
  }

  CUresult end() {
    CUgraph graph = nullptr;
    return CU(cuStreamEndCapture)(stream, &graph);
  }

  unsigned first() {
    unsigned word = 0;
    CU(cuMemcpyDtoH)(&word, data, sizeof(word));
    return word;
  }
};

}  // namespace quantjit::simtest

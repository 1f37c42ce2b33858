// SPDX-License-Identifier: Apache-2.0
// Memory, streams, events and graphs of the fake driver libraries. Device memory is host memory.
#include "tests/support/fake_driver_state.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

using namespace quantjit::test;  // the entry points below have to be outside any namespace

FAKE(cuMemGetInfo)(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = current_context() == nullptr ? 0 : 5000;
  *total_bytes = 10000;
  return CUDA_SUCCESS;
}

FAKE(cuMemAlloc)(CUdeviceptr* address, std::size_t bytes) {
  ENTER(cuMemAlloc)
  if (current_context() == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *address = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
  return change([](FakeRecord& r) { ++r.live_allocations[current_context()->device]; });
}

FAKE(cuMemFree)(CUdeviceptr address) {
  ENTER(cuMemFree)
  std::free(reinterpret_cast<void*>(address));
  return change([](FakeRecord& r) { --r.live_allocations[current_context()->device]; });
}

FAKE(cuMemAllocAsync)(CUdeviceptr* address, std::size_t bytes, CUstream) {
  return cuMemAlloc(address, bytes);
}

FAKE(cuMemFreeAsync)(CUdeviceptr address, CUstream) {
  return cuMemFree(address);
}

FAKE(cuMemcpyHtoD)(CUdeviceptr to, const void* from, std::size_t bytes) {
  ENTER(cuMemcpyHtoD)
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}

FAKE(cuMemcpyDtoH)(void* to, CUdeviceptr from, std::size_t bytes) {
  ENTER(cuMemcpyDtoH)
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}

FAKE(cuMemcpyDtoDAsync)(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
  ENTER(cuMemcpyDtoDAsync)
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}

FAKE(cuMemsetD8)(CUdeviceptr to, unsigned char value, std::size_t bytes) {
  ENTER(cuMemsetD8)
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return CUDA_SUCCESS;
}

FAKE(cuMemsetD8Async)(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream) {
  return cuMemsetD8(to, value, bytes);
}

FAKE(cuPointerGetAttribute)(void* data, CUpointer_attribute, CUdeviceptr pointer) {
  ENTER(cuPointerGetAttribute)
  if (pointer != 0x1000) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *static_cast<int*>(data) = 1;
  return CUDA_SUCCESS;
}

FAKE(cuStreamCreate)(CUstream* stream, unsigned flags) {
  ENTER(cuStreamCreate)
  if (current_context() == nullptr || flags != CU_STREAM_NON_BLOCKING) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *stream = new CUstream_st{current_context()};
  return change([](FakeRecord& r) { ++r.live_streams; });
}

FAKE(cuStreamDestroy)(CUstream stream) {
  delete stream;
  return change([](FakeRecord& r) { --r.live_streams; });
}

FAKE(cuStreamSynchronize)(CUstream) {
  ENTER(cuStreamSynchronize)
  return CUDA_SUCCESS;
}

FAKE(cuStreamGetCtx)(CUstream stream, CUcontext* context) {
  ENTER(cuStreamGetCtx)
  *context = stream == nullptr ? current_context() : stream->context;
  return *context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

FAKE(cuStreamIsCapturing)(CUstream, CUstreamCaptureStatus* status) {
  ENTER(cuStreamIsCapturing)
  return change([&](FakeRecord& r) { *status = r.capture_status; });
}

FAKE(cuStreamBeginCapture)(CUstream, CUstreamCaptureMode) {
  ENTER(cuStreamBeginCapture)
  return change([](FakeRecord& r) { r.capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE; });
}

FAKE(cuStreamEndCapture)(CUstream, CUgraph* graph) {
  return change([&](FakeRecord& r) {
    r.capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
    ++r.live_graphs;
    *graph = any_handle<CUgraph>();
  });
}

FAKE(cuThreadExchangeStreamCaptureMode)(CUstreamCaptureMode* mode) {
  ENTER(cuThreadExchangeStreamCaptureMode)
  return change([&](FakeRecord& r) { std::swap(*mode, r.capture_mode); });
}

FAKE(cuEventCreate)(CUevent* event, unsigned) {
  ENTER(cuEventCreate)
  *event = any_handle<CUevent>();
  return change([](FakeRecord& r) { ++r.live_events; });
}

FAKE(cuEventDestroy)(CUevent) {
  return change([](FakeRecord& r) { --r.live_events; });
}

FAKE(cuEventRecord)(CUevent, CUstream) {
  ENTER(cuEventRecord)
  return CUDA_SUCCESS;
}

FAKE(cuEventSynchronize)(CUevent) {
  ENTER(cuEventSynchronize)
  return CUDA_SUCCESS;
}

FAKE(cuEventElapsedTime)(float* milliseconds, CUevent, CUevent) {
  *milliseconds = 1.5F;
  return CUDA_SUCCESS;
}

FAKE(cuGraphInstantiateWithFlags)(CUgraphExec* graph, CUgraph, unsigned long long) {
  ENTER(cuGraphInstantiateWithFlags)
  *graph = any_handle<CUgraphExec>();
  return change([](FakeRecord& r) { ++r.live_graphs; });
}

FAKE(cuGraphGetNodes)(CUgraph, CUgraphNode*, std::size_t* count) {
  ENTER(cuGraphGetNodes)
  *count = 3;
  return CUDA_SUCCESS;
}

FAKE(cuGraphLaunch)(CUgraphExec, CUstream) {
  ENTER(cuGraphLaunch)
  return CUDA_SUCCESS;
}

FAKE(cuGraphExecDestroy)(CUgraphExec) {
  return change([](FakeRecord& r) { --r.live_graphs; });
}

FAKE(cuGraphDestroy)(CUgraph) {
  return change([](FakeRecord& r) { --r.live_graphs; });
}

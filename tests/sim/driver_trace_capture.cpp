// SPDX-License-Identifier: Apache-2.0
// Driver trace: stream capture, and what it forbids.
#include "driver_trace_stage.hpp"

#include <string>
#include <thread>

namespace quantjit::simtest {

namespace {

/// Begins a capture, makes one call, reports it, and reports how the capture then ends.
template <class Call>
void inside(const Trace& t, Stage& s, const std::string& label, CUstreamCaptureMode mode,
            Call call) {
  s.begin(mode);
  s.launch(s.stream);
  t.answer(label.c_str(), call());
  CUstreamCaptureStatus status{};
  t.answer((label + "_status").c_str(), CU(cuStreamIsCapturing)(s.stream, &status));
  t.value((label + "_status").c_str(), status);
  t.answer((label + "_end").c_str(), s.end());
}

void unsafe_calls(const Trace& t, const std::string& prefix, CUstreamCaptureMode mode) {
  Stage s;
  CUdeviceptr pointer = 0;
  CUevent event = nullptr;
  void* pinned = nullptr;
  void* more = nullptr;
  CUstream stream = nullptr;
  CU(cuEventCreate)(&event, 0);
  CU(cuEventRecord)(event, s.stream);
  CU(cuMemHostAlloc)(&pinned, 4096, 0);
  CU(cuCtxSynchronize)();
  const auto call = [&](const char* label, auto body) { inside(t, s, prefix + label, mode, body); };
  call("mem_alloc", [&] { return CU(cuMemAlloc)(&pointer, 64); });
  call("mem_free", [&] { return CU(cuMemFree)(pointer); });
  call("host_alloc", [&] { return CU(cuMemHostAlloc)(&more, 64, 0); });
  call("mem_info", [&] {
    std::size_t a = 0;
    std::size_t b = 0;
    return CU(cuMemGetInfo)(&a, &b);
  });
  call("context_synchronize", [&] { return CU(cuCtxSynchronize)(); });
  call("stream_synchronize", [&] { return CU(cuStreamSynchronize)(s.stream); });
  call("stream_query", [&] { return CU(cuStreamQuery)(s.stream); });
  call("event_query", [&] { return CU(cuEventQuery)(event); });
  call("event_synchronize", [&] { return CU(cuEventSynchronize)(event); });
  call("copy_sync", [&] { return CU(cuMemcpyDtoH)(pinned, s.data, 64); });
  call("copy_async", [&] { return CU(cuMemcpyDtoHAsync)(pinned, s.data, 64, s.stream); });
  call("set_sync", [&] { return CU(cuMemsetD8)(s.data, 0, 64); });
  call("set_async", [&] { return CU(cuMemsetD8Async)(s.data, 0, 64, s.stream); });
  call("stream_create", [&] { return CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING); });
  call("event_create", [&] { return CU(cuEventCreate)(&event, 0); });
  call("pointer_attribute", [&] {
    unsigned type = 0;
    return CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, s.data);
  });
}

}  // namespace

void trace_capture_begin(const Trace& t) {
  Stage s;
  CUgraph graph = nullptr;
  CUstream other = nullptr;
  CUstreamCaptureStatus status{};
  CU(cuStreamCreate)(&other, 0);
  t.answer("null", CU(cuStreamBeginCapture)(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
  t.answer("legacy", CU(cuStreamBeginCapture)(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL));
  t.answer("bad_mode", CU(cuStreamBeginCapture)(s.stream, foreign<CUstreamCaptureMode>(9)));
  t.answer("end_without", CU(cuStreamEndCapture)(s.stream, &graph));
  t.answer("begin", s.begin());
  t.answer("begin_again", s.begin());
  t.answer("status", CU(cuStreamIsCapturing)(s.stream, &status));
  t.value("status", status);
  cuuint64_t id = 0;
  CUgraph partial = nullptr;
  const CUgraphNode* dependencies = nullptr;
  std::size_t number = 99;
  t.answer("info", CU(cuStreamGetCaptureInfo)(s.stream, &status, &id, &partial, &dependencies,
                                              nullptr, &number));
  t.value("info_status", status);
  t.value("info_dependencies", static_cast<long long>(number));
  t.answer("launch", s.launch(s.stream));
  t.answer("info_after", CU(cuStreamGetCaptureInfo)(s.stream, &status, &id, &partial, &dependencies,
                                                    nullptr, &number));
  t.value("info_after_dependencies", static_cast<long long>(number));
  t.answer("end_null", CU(cuStreamEndCapture)(s.stream, nullptr));
  t.answer("end", s.end());
  t.answer("info_none", CU(cuStreamGetCaptureInfo)(s.stream, &status, &id, &partial, &dependencies,
                                                   nullptr, &number));
  t.value("info_none_status", status);
  s.begin();
  CUresult from_thread = CUDA_SUCCESS;
  std::thread([&] {
    CU(cuCtxSetCurrent)(s.context);
    from_thread = s.end();
  }).join();
  t.answer("end_other_thread", from_thread);
  t.answer("end_after_other_thread", s.end());
  s.begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  std::thread([&] {
    CU(cuCtxSetCurrent)(s.context);
    from_thread = s.end();
  }).join();
  t.answer("end_relaxed_thread", from_thread);
  s.begin();
  t.answer("empty_end", CU(cuStreamEndCapture)(s.stream, &graph));
  t.value("empty_graph", graph != nullptr ? 1 : 0);
  s.begin();
  t.answer("destroy_capturing", CU(cuStreamDestroy)(s.stream));
}

void trace_capture_unsafe(const Trace& t) {
  unsafe_calls(t, "global_", CU_STREAM_CAPTURE_MODE_GLOBAL);
  unsafe_calls(t, "local_", CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

void trace_capture_relaxed(const Trace& t) {
  unsafe_calls(t, "relaxed_", CU_STREAM_CAPTURE_MODE_RELAXED);
  Stage s;
  CUdeviceptr pointer = 0;
  const auto from_thread = [&](const char* label, CUstreamCaptureMode capture,
                               CUstreamCaptureMode thread_mode) {
    s.begin(capture);
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      CU(cuCtxSetCurrent)(s.context);
      CUstreamCaptureMode mode = thread_mode;
      CU(cuThreadExchangeStreamCaptureMode)(&mode);
      result = CU(cuMemAlloc)(&pointer, 64);
    }).join();
    t.answer(label, result);
    t.answer((std::string(label) + "_end").c_str(), s.end());
  };
  from_thread("global_other_global", CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL);
  from_thread("global_other_local", CU_STREAM_CAPTURE_MODE_GLOBAL,
              CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  from_thread("global_other_relaxed", CU_STREAM_CAPTURE_MODE_GLOBAL,
              CU_STREAM_CAPTURE_MODE_RELAXED);
  from_thread("local_other_global", CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
              CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  t.answer("exchange", CU(cuThreadExchangeStreamCaptureMode)(&mode));
  t.value("exchange_old", mode);
  inside(t, s, "exchanged_alloc", CU_STREAM_CAPTURE_MODE_GLOBAL,
         [&] { return CU(cuMemAlloc)(&pointer, 64); });
  inside(t, s, "exchanged_synchronize", CU_STREAM_CAPTURE_MODE_GLOBAL,
         [&] { return CU(cuCtxSynchronize)(); });
  mode = foreign<CUstreamCaptureMode>(9);
  t.answer("exchange_bad", CU(cuThreadExchangeStreamCaptureMode)(&mode));
}

void trace_capture_legacy(const Trace& t) {
  Stage s;
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    const std::string prefix = mode == CU_STREAM_CAPTURE_MODE_GLOBAL ? "global_" : "relaxed_";
    CUstreamCaptureStatus status{};
    inside(t, s, prefix + "launch", mode, [&] { return s.launch(nullptr); });
    inside(t, s, prefix + "launch_per_thread", mode,
           [&] { return s.launch(CU_STREAM_PER_THREAD); });
    inside(t, s, prefix + "query", mode, [&] { return CU(cuStreamQuery)(nullptr); });
    inside(t, s, prefix + "synchronize", mode, [&] { return CU(cuStreamSynchronize)(nullptr); });
    inside(t, s, prefix + "set", mode, [&] { return CU(cuMemsetD8Async)(s.data, 0, 4, nullptr); });
    inside(t, s, prefix + "is_capturing", mode,
           [&] { return CU(cuStreamIsCapturing)(nullptr, &status); });
  }
  Stage apart(CU_STREAM_NON_BLOCKING);
  inside(t, apart, "non_blocking_launch", CU_STREAM_CAPTURE_MODE_GLOBAL,
         [&] { return apart.launch(nullptr); });
  inside(t, apart, "non_blocking_synchronize", CU_STREAM_CAPTURE_MODE_GLOBAL,
         [&] { return CU(cuStreamSynchronize)(nullptr); });
}

void trace_capture_fork(const Trace& t) {
  Stage s;
  CUstream side = nullptr;
  CUevent fork = nullptr;
  CUevent join = nullptr;
  CUgraph graph = nullptr;
  std::size_t number = 0;
  CU(cuStreamCreate)(&side, CU_STREAM_NON_BLOCKING);
  CU(cuEventCreate)(&fork, CU_EVENT_DISABLE_TIMING);
  CU(cuEventCreate)(&join, CU_EVENT_DISABLE_TIMING);
  const auto split = [&] {
    s.begin();
    s.launch(s.stream);
    CU(cuEventRecord)(fork, s.stream);
    CU(cuStreamWaitEvent)(side, fork, 0);
  };
  split();
  t.answer("side_launch", s.launch(side));
  t.answer("captured_query", CU(cuEventQuery)(fork));
  t.answer("captured_query_end", s.end());
  split();
  t.answer("captured_synchronize", CU(cuEventSynchronize)(fork));
  t.answer("captured_synchronize_end", s.end());
  split();
  s.launch(side);
  t.answer("unjoined", s.end());
  split();
  s.launch(side);
  t.answer("end_side", CU(cuStreamEndCapture)(side, &graph));
  t.answer("end_side_origin", s.end());
  split();
  s.launch(side);
  CU(cuEventRecord)(join, side);
  CU(cuStreamWaitEvent)(s.stream, join, 0);
  s.launch(s.stream);
  t.answer("joined", CU(cuStreamEndCapture)(s.stream, &graph));
  t.answer("nodes", CU(cuGraphGetNodes)(graph, nullptr, &number));
  t.value("nodes", static_cast<long long>(number));
  t.answer("event_after_query", CU(cuEventQuery)(fork));
  t.answer("event_after_wait", CU(cuStreamWaitEvent)(side, fork, 0));
  s.begin();
  CU(cuEventRecord)(fork, s.stream);
  t.answer("wait_on_legacy", CU(cuStreamWaitEvent)(nullptr, fork, 0));
  t.answer("wait_on_legacy_end", s.end());
  CU(cuEventRecord)(join, side);
  s.begin();
  t.answer("wait_outside_event", CU(cuStreamWaitEvent)(s.stream, join, 0));
  t.answer("wait_outside_event_end", s.end());
}

void trace_capture_load(const Trace& t) {
  Stage s;
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    const std::string prefix = mode == CU_STREAM_CAPTURE_MODE_GLOBAL ? "global_" : "local_";
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    CUmodule module = nullptr;
    inside(t, s, prefix + "library", mode, [&] {
      return CU(cuLibraryLoadData)(&library, kTracePtx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    });
    inside(t, s, prefix + "kernel", mode,
           [&] { return CU(cuLibraryGetKernel)(&kernel, library, "add_one"); });
    inside(t, s, prefix + "function", mode,
           [&] { return CU(cuKernelGetFunction)(&function, kernel); });
    inside(t, s, prefix + "attribute", mode, [&] {
      return CU(cuFuncSetAttribute)(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    65536);
    });
    inside(t, s, prefix + "unload", mode, [&] { return CU(cuLibraryUnload)(library); });
    inside(t, s, prefix + "module", mode, [&] { return CU(cuModuleLoadData)(&module, kTracePtx); });
  }
}

void trace_capture_more(const Trace& t) {
  constexpr auto kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
  Stage s(CU_STREAM_NON_BLOCKING);
  CUstream other = nullptr;
  CUevent fresh = nullptr;
  CUdeviceptr pointer = 0;
  unsigned word = 0;
  CU(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING);
  CU(cuEventCreate)(&fresh, 0);
  inside(t, s, "other_synchronize", kGlobal, [&] { return CU(cuStreamSynchronize)(other); });
  inside(t, s, "other_query", kGlobal, [&] { return CU(cuStreamQuery)(other); });
  inside(t, s, "other_launch", kGlobal, [&] { return s.launch(other); });
  inside(t, s, "copy_sync", kGlobal, [&] { return CU(cuMemcpyDtoH)(&word, s.data, 4); });
  inside(t, s, "set_sync", kGlobal, [&] { return CU(cuMemsetD8)(s.data, 0, 4); });
  inside(t, s, "wait_fresh", kGlobal, [&] { return CU(cuStreamWaitEvent)(s.stream, fresh, 0); });
  inside(t, s, "other_alloc_async", kGlobal,
         [&] { return CU(cuMemAllocAsync)(&pointer, 64, other); });
  inside(t, s, "other_free_async", kGlobal, [&] { return CU(cuMemFreeAsync)(pointer, other); });
  inside(t, s, "record_legacy", kGlobal, [&] { return CU(cuEventRecord)(fresh, nullptr); });
  inside(t, s, "event_destroy", kGlobal, [&] { return CU(cuEventDestroy)(fresh); });
  inside(t, s, "stream_destroy", kGlobal, [&] { return CU(cuStreamDestroy)(other); });
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  s.begin();
  s.launch(s.stream);
  s.launch(s.stream);
  CU(cuStreamEndCapture)(s.stream, &graph);
  CUgraphExec second_executable = nullptr;
  CU(cuGraphInstantiate)(&executable, graph, 0);
  inside(t, s, "instantiate", kGlobal,
         [&] { return CU(cuGraphInstantiate)(&second_executable, graph, 0); });
  s.begin();
  t.answer("graph_launch", CU(cuGraphLaunch)(executable, s.stream));
  CU(cuStreamEndCapture)(s.stream, &graph);
  std::size_t number = 0;
  CU(cuGraphGetNodes)(graph, nullptr, &number);
  t.value("graph_launch_nodes", static_cast<long long>(number));
  inside(t, s, "exec_destroy", kGlobal, [&] { return CU(cuGraphExecDestroy)(executable); });
  inside(t, s, "graph_destroy", kGlobal, [&] { return CU(cuGraphDestroy)(graph); });
  s.begin();
  CU(cuMemAlloc)(&pointer, 64);
  t.answer("invalid_launch", s.launch(s.stream));
  t.answer("invalid_synchronize", CU(cuStreamSynchronize)(s.stream));
  t.answer("invalid_alloc", CU(cuMemAlloc)(&pointer, 64));
  t.answer("invalid_end", s.end());
  Stage second(CU_STREAM_NON_BLOCKING);
  CUevent crossing = nullptr;
  CU(cuEventCreate)(&crossing, 0);
  s.begin();
  second.begin();
  second.launch(second.stream);
  CU(cuEventRecord)(crossing, second.stream);
  t.answer("merge", CU(cuStreamWaitEvent)(s.stream, crossing, 0));
  t.answer("merge_end", s.end());
  t.answer("merge_end_second", second.end());
}

}  // namespace quantjit::simtest

// SPDX-License-Identifier: Apache-2.0
// Driver trace: streams, events, graphs and faults.
#include "driver_trace_stage.hpp"

namespace quantjit::simtest {

void trace_stream(const Trace& t) {
  Stage s;
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  CUdevice device = 9;
  unsigned flags = 99;
  unsigned long long id = 0;
  int priority = 99;
  t.answer("create_bad_flags", CU(cuStreamCreate)(&stream, 77));
  t.answer("create_null", CU(cuStreamCreate)(nullptr, 0));
  t.answer("create_priority", CU(cuStreamCreateWithPriority)(&stream, 1, -100));
  t.answer("priority", CU(cuStreamGetPriority)(stream, &priority));
  t.value("priority", priority);
  t.answer("flags", CU(cuStreamGetFlags)(stream, &flags));
  t.value("flags", flags);
  t.answer("context", CU(cuStreamGetCtx)(stream, &context));
  t.value("context_same", context == s.context ? 1 : 0);
  t.answer("context_null", CU(cuStreamGetCtx)(nullptr, &context));
  t.answer("device", CU(cuStreamGetDevice)(stream, &device));
  t.value("device", device);
  t.answer("id", CU(cuStreamGetId)(stream, &id));
  t.answer("flags_null_stream", CU(cuStreamGetFlags)(nullptr, &flags));
  t.value("flags_null_stream", flags);
  t.answer("flags_per_thread", CU(cuStreamGetFlags)(CU_STREAM_PER_THREAD, &flags));
  t.value("flags_per_thread", flags);
  t.answer("query", CU(cuStreamQuery)(stream));
  t.answer("synchronize", CU(cuStreamSynchronize)(stream));
  t.answer("synchronize_null", CU(cuStreamSynchronize)(nullptr));
  t.answer("synchronize_legacy", CU(cuStreamSynchronize)(CU_STREAM_LEGACY));
  t.answer("synchronize_per_thread", CU(cuStreamSynchronize)(CU_STREAM_PER_THREAD));
  t.answer("launch", s.launch(stream));
  t.answer("launch_legacy", s.launch(CU_STREAM_LEGACY));
  t.answer("launch_per_thread", s.launch(CU_STREAM_PER_THREAD));
  t.answer("host_function_null", CU(cuLaunchHostFunc)(stream, nullptr, nullptr));
  t.answer("destroy", CU(cuStreamDestroy)(stream));
  t.answer("destroy_null", CU(cuStreamDestroy)(nullptr));
  t.answer("destroy_legacy", CU(cuStreamDestroy)(CU_STREAM_LEGACY));
  t.answer("destroy_per_thread", CU(cuStreamDestroy)(CU_STREAM_PER_THREAD));
  static CUresult inner = CUDA_SUCCESS;
  t.answer("host_function", CU(cuLaunchHostFunc)(
                                s.stream, [](void*) { inner = CU(cuCtxSynchronize)(); }, nullptr));
  CU(cuStreamSynchronize)(s.stream);
  t.answer("host_function_calls", inner);
}

void trace_event(const Trace& t) {
  Stage s;
  CUevent a = nullptr;
  CUevent b = nullptr;
  CUevent quick = nullptr;
  float ms = -1;
  t.answer("create_bad_flags", CU(cuEventCreate)(&a, 99));
  t.answer("create_interprocess_alone", CU(cuEventCreate)(&a, CU_EVENT_INTERPROCESS));
  t.answer("create", CU(cuEventCreate)(&a, 0));
  CU(cuEventCreate)(&b, 0);
  CU(cuEventCreate)(&quick, CU_EVENT_DISABLE_TIMING);
  t.answer("query_fresh", CU(cuEventQuery)(a));
  t.answer("synchronize_fresh", CU(cuEventSynchronize)(a));
  t.answer("wait_fresh", CU(cuStreamWaitEvent)(s.stream, a, 0));
  t.answer("elapsed_fresh", CU(cuEventElapsedTime)(&ms, a, b));
  t.answer("record", CU(cuEventRecord)(a, s.stream));
  t.answer("elapsed_half", CU(cuEventElapsedTime)(&ms, a, b));
  t.answer("record_with_flags", CU(cuEventRecordWithFlags)(b, s.stream, 0));
  t.answer("record_bad_flags", CU(cuEventRecordWithFlags)(b, s.stream, 8));
  t.answer("synchronize", CU(cuEventSynchronize)(b));
  t.answer("elapsed", CU(cuEventElapsedTime)(&ms, a, b));
  t.value("elapsed_positive", ms >= 0 ? 1 : 0);
  t.answer("record_quick", CU(cuEventRecord)(quick, nullptr));
  CU(cuEventSynchronize)(quick);
  t.answer("elapsed_quick", CU(cuEventElapsedTime)(&ms, a, quick));
  t.answer("wait", CU(cuStreamWaitEvent)(s.stream, a, 0));
  t.answer("wait_bad_flags", CU(cuStreamWaitEvent)(s.stream, a, 8));
  t.answer("null", CU(cuEventRecord)(nullptr, s.stream));
  t.answer("destroy", CU(cuEventDestroy)(a));
  t.answer("destroy_null", CU(cuEventDestroy)(nullptr));
}

void trace_graph(const Trace& t) {
  Stage s;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  s.begin();
  s.launch(s.stream);
  s.launch(s.stream);
  CU(cuMemsetD8Async)(s.data + 8, 0, 16, s.stream);
  t.answer("end", CU(cuStreamEndCapture)(s.stream, &graph));
  t.value("not_run_yet", s.first());
  t.answer("instantiate_null", CU(cuGraphInstantiate)(&executable, nullptr, 0));
  t.answer("instantiate", CU(cuGraphInstantiate)(&executable, graph, 0));
  std::size_t number = 0;
  t.answer("nodes", CU(cuGraphGetNodes)(graph, nullptr, &number));
  t.value("nodes", static_cast<long long>(number));
  t.answer("destroy", CU(cuGraphDestroy)(graph));
  t.answer("unload_used", CU(cuLibraryUnload)(s.library));
  t.answer("launch", CU(cuGraphLaunch)(executable, s.stream));
  t.answer("launch_again", CU(cuGraphLaunch)(executable, s.stream));
  t.answer("synchronize", CU(cuStreamSynchronize)(s.stream));
  t.answer("launch_legacy", CU(cuGraphLaunch)(executable, nullptr));
  t.answer("launch_null", CU(cuGraphLaunch)(nullptr, s.stream));
  t.answer("exec_destroy", CU(cuGraphExecDestroy)(executable));
  t.answer("create", CU(cuGraphCreate)(&graph, 0));
  t.answer("create_flags", CU(cuGraphCreate)(&graph, 1));
  t.answer("instantiate_empty", CU(cuGraphInstantiate)(&executable, graph, 0));
  t.answer("launch_empty", CU(cuGraphLaunch)(executable, s.stream));
}

namespace {

void after_fault(const Trace& t, Stage& s) {
  CUdeviceptr pointer = 0;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUlibrary library = nullptr;
  int number = 0;
  t.answer("context_synchronize", CU(cuCtxSynchronize)());
  t.answer("stream_synchronize", CU(cuStreamSynchronize)(s.stream));
  t.answer("stream_query", CU(cuStreamQuery)(s.stream));
  t.answer("alloc", CU(cuMemAlloc)(&pointer, 64));
  t.answer("free", CU(cuMemFree)(s.data));
  t.answer("launch", s.launch(s.stream));
  t.answer("stream_create", CU(cuStreamCreate)(&stream, 0));
  t.answer("device_count", CU(cuDeviceGetCount)(&number));
  t.answer("device_attribute", CU(cuDeviceGetAttribute)(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  t.answer("context_device", CU(cuCtxGetDevice)(&device));
  t.answer("context_current", CU(cuCtxGetCurrent)(&context));
  t.answer("library_load",
           CU(cuLibraryLoadData)(&library, kTracePtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  t.answer("stream_destroy", CU(cuStreamDestroy)(s.stream));
  t.answer("retain", CU(cuDevicePrimaryCtxRetain)(&context, 0));
  t.answer("release", CU(cuDevicePrimaryCtxRelease)(0));
  t.answer("release_last", CU(cuDevicePrimaryCtxRelease)(0));
  t.answer("retain_again", CU(cuDevicePrimaryCtxRetain)(&context, 0));
  t.answer("set_again", CU(cuCtxSetCurrent)(context));
  t.answer("alloc_again", CU(cuMemAlloc)(&pointer, 64));
}

}  // namespace

void trace_fault(const Trace& t) {
  Stage s;
  s.data = 0x10;
  t.answer("faulting_launch_synchronize",
           s.launch(s.stream) == CUDA_SUCCESS ? CU(cuStreamSynchronize)(s.stream) : CUDA_SUCCESS);
  after_fault(t, s);
}

void trace_misaligned(const Trace& t) {
  Stage s;
  s.data += 1;
  t.answer("faulting_launch_synchronize",
           s.launch(s.stream) == CUDA_SUCCESS ? CU(cuStreamSynchronize)(s.stream) : CUDA_SUCCESS);
  after_fault(t, s);
}

void trace_trap(const Trace& t) {
  Stage s;
  CU(cuLibraryGetKernel)(&s.kernel, s.library, "trapping");
  CU(cuKernelGetFunction)(&s.function, s.kernel);
  t.answer("faulting_launch_synchronize",
           s.launch(s.stream) == CUDA_SUCCESS ? CU(cuStreamSynchronize)(s.stream) : CUDA_SUCCESS);
  after_fault(t, s);
}

}  // namespace quantjit::simtest

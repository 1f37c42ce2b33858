// SPDX-License-Identifier: Apache-2.0
// Captured work: what a graph holds, and that a replay repeats it.
#include "driver_support.hpp"

using namespace quantjit::simtest;

namespace {

std::size_t nodes_of(CUgraph graph) {
  std::size_t count = 0;
  REQUIRE_OK(CU(cuGraphGetNodes)(graph, nullptr, &count));
  return count;
}

CUgraphExec executable(CUgraph graph) {
  CUgraphExec made = nullptr;
  REQUIRE_OK(CU(cuGraphInstantiate)(&made, graph, 0));
  REQUIRE_OK(CU(cuGraphDestroy)(graph));
  return made;
}

void begin(CUstream stream) {
  REQUIRE_OK(CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

CUgraph end(CUstream stream) {
  CUgraph graph = nullptr;
  REQUIRE_OK(CU(cuStreamEndCapture)(stream, &graph));
  return graph;
}

}  // namespace

TEST_CASE("Graphs: a capture records without executing, a replay executes", "[sim]") {
  TestDevice device;
  const TestStream stream;
  const CUfunction step = device.function("step");
  const CUdeviceptr a = device.upload(ramp(10, 64));
  const CUdeviceptr b = device.upload(ramp(0, 64));
  static std::uint32_t calls = 0;
  calls = 0;
  std::vector<std::uint32_t> host(64, 77);
  begin(stream.get());
  REQUIRE_OK(launch(step, stream.get(), a, a, 64));
  REQUIRE_OK(CU(cuMemcpyDtoDAsync)(b, a, 128, stream.get()));
  REQUIRE_OK(CU(cuMemsetD16Async)(b, 5, 2, stream.get()));
  REQUIRE_OK(CU(cuMemcpyDtoHAsync)(host.data(), b, 256, stream.get()));
  REQUIRE_OK(CU(cuLaunchHostFunc)(
      stream.get(), [](void*) { ++calls; }, nullptr));
  const CUgraph graph = end(stream.get());
  CHECK(nodes_of(graph) == 5);
  CHECK(device.download(a, 64) == ramp(10, 64));
  CHECK(device.download(b, 64) == ramp(0, 64));
  CHECK(host == std::vector<std::uint32_t>(64, 77));
  const CUgraphExec exec = executable(graph);
  for (std::uint32_t replay = 1; replay <= 3; ++replay) {
    CAPTURE(replay);
    REQUIRE_OK(CU(cuGraphLaunch)(exec, stream.get()));
    REQUIRE_OK(CU(cuStreamSynchronize)(stream.get()));
    CHECK(calls == replay);
    CHECK(device.download(a, 64) == ramp(10 + replay, 64));
    std::vector<std::uint32_t> expected = ramp(10 + replay, 32);
    expected[0] = 0x00050005;
    const std::vector<std::uint32_t> rest = ramp(32, 32);
    expected.insert(expected.end(), rest.begin(), rest.end());
    CHECK(host == expected);
  }
  REQUIRE_OK(CU(cuGraphExecDestroy)(exec));
  CHECK_ANSWER(CUDA_ERROR_INVALID_VALUE, CU(cuGraphLaunch)(exec, stream.get()));
}

TEST_CASE("Graphs: parameters and settings are those of the capture", "[sim]") {
  TestDevice device;
  const TestStream stream;
  CUdeviceptr in = device.upload(ramp(0, 64));
  CUdeviceptr out = device.upload(ramp(500, 64));
  unsigned count = 32;
  void* parameters[] = {&in, &out, &count};
  begin(stream.get());
  REQUIRE_OK(CU(cuLaunchKernel)(device.function("step"), 1, 1, 1, 64, 1, 1, 0, stream.get(),
                                parameters, nullptr));
  const CUgraphExec exec = executable(end(stream.get()));
  const CUdeviceptr kept = out;
  count = 64;
  in = 0;
  out = 0;
  REQUIRE_OK(CU(cuGraphLaunch)(exec, stream.get()));
  REQUIRE_OK(CU(cuStreamSynchronize)(stream.get()));
  std::vector<std::uint32_t> expected = ramp(500, 64);
  for (std::uint32_t i = 0; i < 32; ++i) {
    expected[i] = i + 1;
  }
  CHECK(device.download(kept, 64) == expected);
  REQUIRE_OK(CU(cuGraphExecDestroy)(exec));
}

TEST_CASE("Graphs: forked streams join the capture and its replay", "[sim]") {
  TestDevice device;
  const TestStream origin;
  const TestStream side;
  const CUfunction step = device.function("step");
  CUevent fork = nullptr;
  CUevent join = nullptr;
  REQUIRE_OK(CU(cuEventCreate)(&fork, CU_EVENT_DISABLE_TIMING));
  REQUIRE_OK(CU(cuEventCreate)(&join, CU_EVENT_DISABLE_TIMING));
  const CUdeviceptr a = device.upload(ramp(0, 64));
  const CUdeviceptr b = device.allocate(256);
  const CUdeviceptr c = device.allocate(256);
  const CUdeviceptr d = device.allocate(256);
  begin(origin.get());
  REQUIRE_OK(launch(step, origin.get(), a, b, 64));
  REQUIRE_OK(CU(cuEventRecord)(fork, origin.get()));
  REQUIRE_OK(CU(cuStreamWaitEvent)(side.get(), fork, 0));
  REQUIRE_OK(launch(step, side.get(), b, c, 64));
  CUstreamCaptureStatus status{};
  REQUIRE_OK(CU(cuStreamIsCapturing)(side.get(), &status));
  CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  REQUIRE_OK(CU(cuEventRecord)(join, side.get()));
  REQUIRE_OK(CU(cuStreamWaitEvent)(origin.get(), join, 0));
  REQUIRE_OK(launch(step, origin.get(), c, d, 64));
  const CUgraph graph = end(origin.get());
  REQUIRE_OK(CU(cuStreamIsCapturing)(side.get(), &status));
  CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
  const CUgraphExec exec = executable(graph);
  REQUIRE_OK(CU(cuGraphLaunch)(exec, side.get()));
  REQUIRE_OK(CU(cuStreamSynchronize)(side.get()));
  CHECK(device.download(d, 64) == ramp(3, 64));
  REQUIRE_OK(CU(cuGraphExecDestroy)(exec));
  REQUIRE_OK(CU(cuEventDestroy)(fork));
  REQUIRE_OK(CU(cuEventDestroy)(join));
}

TEST_CASE("Graphs: an unloaded library's kernels stay usable in a graph", "[sim]") {
  TestDevice device;
  const TestStream stream;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  REQUIRE_OK(CU(cuLibraryLoadData)(&library, test_ptx().c_str(), nullptr, nullptr, 0, nullptr,
                                   nullptr, 0));
  REQUIRE_OK(CU(cuLibraryGetKernel)(&kernel, library, "step"));
  const CUdeviceptr in = device.upload(ramp(0, 64));
  const CUdeviceptr out = device.allocate(256);
  begin(stream.get());
  REQUIRE_OK(launch(reinterpret_cast<CUfunction>(kernel), stream.get(), in, out, 64));
  const CUgraphExec exec = executable(end(stream.get()));
  REQUIRE_OK(CU(cuLibraryUnload)(library));
  REQUIRE_OK(CU(cuGraphLaunch)(exec, stream.get()));
  REQUIRE_OK(CU(cuStreamSynchronize)(stream.get()));
  CHECK(device.download(out, 64) == ramp(1, 64));
  REQUIRE_OK(CU(cuGraphExecDestroy)(exec));
}

TEST_CASE("Graphs: loading a library inside a capture leaves it valid", "[sim]") {
  TestDevice device;
  const TestStream stream;
  const CUdeviceptr in = device.upload(ramp(0, 64));
  const CUdeviceptr out = device.allocate(256);
  begin(stream.get());
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  REQUIRE_OK(CU(cuLibraryLoadData)(&library, test_ptx().c_str(), nullptr, nullptr, 0, nullptr,
                                   nullptr, 0));
  REQUIRE_OK(CU(cuLibraryGetKernel)(&kernel, library, "step"));
  REQUIRE_OK(CU(cuKernelGetFunction)(&function, kernel));
  REQUIRE_OK(launch(function, stream.get(), in, out, 64));
  const CUgraphExec exec = executable(end(stream.get()));
  REQUIRE_OK(CU(cuGraphLaunch)(exec, stream.get()));
  REQUIRE_OK(CU(cuStreamSynchronize)(stream.get()));
  CHECK(device.download(out, 64) == ramp(1, 64));
  REQUIRE_OK(CU(cuGraphExecDestroy)(exec));
  REQUIRE_OK(CU(cuLibraryUnload)(library));
}

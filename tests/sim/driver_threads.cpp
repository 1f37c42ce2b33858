// SPDX-License-Identifier: Apache-2.0
// Many threads in the driver at once.
#include "driver_support.hpp"

#include <atomic>
#include <thread>

using namespace quantjit::simtest;

namespace {

constexpr int kThreads = 16;
constexpr std::uint32_t kCount = 256;

/// Counts the answers that differ from success: Catch2 assertions belong to the main thread.
class Answers {
 public:
  void operator()(CUresult result) { wrong_ += result == CUDA_SUCCESS ? 0 : 1; }

  void expect(bool condition) { wrong_ += condition ? 0 : 1; }

  [[nodiscard]] int wrong() const { return wrong_; }

 private:
  int wrong_ = 0;
};

template <class Body>
int in_threads(Body body) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Answers ok;
      body(i, ok);
      wrong += ok.wrong();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return wrong;
}

bool copies_back(CUdeviceptr from, CUstream stream, const std::vector<std::uint32_t>& expected,
                 Answers& ok) {
  std::vector<std::uint32_t> words(expected.size());
  ok(CU(cuMemcpyDtoHAsync)(words.data(), from, words.size() * 4, stream));
  ok(CU(cuStreamSynchronize)(stream));
  return words == expected;
}

}  // namespace

TEST_CASE("Threads: 16 with a stream each, on all devices", "[sim][threads]") {
  const TestDevice d0(0);
  const TestDevice d1(1);
  const TestDevice d2(2);
  const TestDevice d3(3);
  const CUcontext contexts[] = {d0.context(), d1.context(), d2.context(), d3.context()};
  CUkernel step = nullptr;
  REQUIRE_OK(CU(cuLibraryGetKernel)(&step, d0.library(), "step"));
  const int wrong = in_threads([&](int index, Answers& ok) {
    ok(CU(cuCtxSetCurrent)(contexts[index % kDevices]));
    CUfunction function = nullptr;
    ok(CU(cuKernelGetFunction)(&function, step));
    for (std::uint32_t round = 0; round < 8; ++round) {
      CUstream stream = nullptr;
      CUdeviceptr a = 0;
      CUdeviceptr b = 0;
      ok(CU(cuStreamCreate)(&stream, round % 2 == 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
      ok(CU(cuMemAlloc)(&a, kCount * 4));
      ok(CU(cuMemAllocAsync)(&b, kCount * 4, stream));
      const auto start = static_cast<std::uint32_t>(index) * 1000 + round;
      ok(CU(cuMemcpyHtoDAsync)(a, ramp(start, kCount).data(), kCount * 4, stream));
      ok(launch(function, stream, a, b, kCount));
      ok(launch(function, stream, b, a, kCount));
      ok.expect(copies_back(a, stream, ramp(start + 2, kCount), ok));
      ok(CU(cuMemFreeAsync)(b, stream));
      ok(CU(cuMemFree)(a));
      ok(CU(cuStreamDestroy)(stream));
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("Threads: 16 load, launch and unload libraries of their own", "[sim][threads]") {
  const TestDevice device;
  const std::string ptx = test_ptx();
  const int wrong = in_threads([&](int index, Answers& ok) {
    ok(CU(cuCtxSetCurrent)(device.context()));
    for (int round = 0; round < 4; ++round) {
      CUlibrary library = nullptr;
      CUkernel kernel = nullptr;
      CUdeviceptr a = 0;
      ok(CU(cuLibraryLoadData)(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
      ok(CU(cuLibraryGetKernel)(&kernel, library, "step"));
      ok(CU(cuMemAlloc)(&a, kCount * 4));
      const auto start = static_cast<std::uint32_t>(index);
      ok(CU(cuMemcpyHtoDAsync)(a, ramp(start, kCount).data(), kCount * 4, CU_STREAM_PER_THREAD));
      ok(launch(reinterpret_cast<CUfunction>(kernel), CU_STREAM_PER_THREAD, a, a, kCount));
      ok.expect(copies_back(a, CU_STREAM_PER_THREAD, ramp(start + 1, kCount), ok));
      ok(CU(cuLibraryUnload)(library));
      ok(CU(cuMemFree)(a));
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("Threads: 16 capture and replay at once", "[sim][threads]") {
  const TestDevice device;
  const CUfunction step = device.function("step");
  const int wrong = in_threads([&](int index, Answers& ok) {
    ok(CU(cuCtxSetCurrent)(device.context()));
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CUdeviceptr a = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    ok(CU(cuThreadExchangeStreamCaptureMode)(&mode));
    ok(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    ok(CU(cuMemAllocAsync)(&a, kCount * 4, stream));
    const auto start = static_cast<std::uint32_t>(index);
    ok(CU(cuMemcpyHtoDAsync)(a, ramp(start, kCount).data(), kCount * 4, stream));
    ok(CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(launch(step, stream, a, a, kCount));
    ok(launch(step, stream, a, a, kCount));
    ok(CU(cuStreamEndCapture)(stream, &graph));
    ok(CU(cuGraphInstantiate)(&exec, graph, 0));
    for (int replay = 0; replay < 5; ++replay) {
      ok(CU(cuGraphLaunch)(exec, stream));
    }
    ok.expect(copies_back(a, stream, ramp(start + 10, kCount), ok));
    ok(CU(cuGraphExecDestroy)(exec));
    ok(CU(cuGraphDestroy)(graph));
    ok(CU(cuMemFreeAsync)(a, stream));
    ok(CU(cuStreamDestroy)(stream));
  });
  CHECK(wrong == 0);
}

TEST_CASE("Threads: 16 order one buffer through events", "[sim][threads]") {
  TestDevice device;
  const CUfunction step = device.function("step");
  const CUdeviceptr data = device.upload(ramp(0, kCount));
  std::vector<CUevent> done(kThreads + 1);
  for (CUevent& event : done) {
    REQUIRE_OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  }
  std::atomic<int> turn{0};
  const int wrong = in_threads([&](int index, Answers& ok) {
    ok(CU(cuCtxSetCurrent)(device.context()));
    CUstream stream = nullptr;
    ok(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    while (turn.load() != index) {
      std::this_thread::yield();
    }
    ok(CU(cuStreamWaitEvent)(stream, done[static_cast<std::size_t>(index)], 0));
    ok(launch(step, stream, data, data, kCount));
    ok(CU(cuEventRecord)(done[static_cast<std::size_t>(index) + 1], stream));
    turn = index + 1;
    ok(CU(cuStreamSynchronize)(stream));
    ok(CU(cuStreamDestroy)(stream));
  });
  CHECK(wrong == 0);
  CHECK(device.download(data, kCount) == ramp(kThreads, kCount));
  for (const CUevent event : done) {
    REQUIRE_OK(CU(cuEventDestroy)(event));
  }
}

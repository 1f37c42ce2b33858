// SPDX-License-Identifier: Apache-2.0
// Streams, events and host functions.
#include "driver_support.hpp"

#include <atomic>
#include <future>
#include <thread>

using namespace quantjit::simtest;

TEST_CASE("Streams: kernels, copies and fills execute in order", "[sim]") {
  TestDevice device;
  const TestStream stream;
  const CUfunction step = device.function("step");
  const CUdeviceptr a = device.upload(ramp(0, 256));
  const CUdeviceptr b = device.allocate(1024);
  std::vector<std::uint32_t> between(256);
  std::vector<std::uint32_t> after(256);
  REQUIRE_OK(launch(step, stream.get(), a, b, 256));
  REQUIRE_OK(CU(cuMemcpyDtoHAsync)(between.data(), b, 1024, stream.get()));
  REQUIRE_OK(launch(step, stream.get(), b, a, 256));
  REQUIRE_OK(CU(cuMemsetD32Async)(b, 9, 256, stream.get()));
  REQUIRE_OK(launch(step, stream.get(), b, b, 128));
  REQUIRE_OK(CU(cuMemcpyDtoDAsync)(a + 512, b + 256, 512, stream.get()));
  REQUIRE_OK(CU(cuMemcpyDtoHAsync)(after.data(), a, 1024, stream.get()));
  REQUIRE_OK(CU(cuStreamSynchronize)(stream.get()));
  CHECK(between == ramp(1, 256));
  std::vector<std::uint32_t> expected = ramp(2, 256);
  for (std::size_t i = 128; i < 256; ++i) {
    expected[i] = i < 192 ? 10 : 9;
  }
  CHECK(after == expected);
}

TEST_CASE("Streams: the legacy default stream orders blocking streams, both ways", "[sim]") {
  TestDevice device;
  const TestStream stream(CU_STREAM_DEFAULT);
  const CUfunction step = device.function("step");
  const CUdeviceptr a = device.upload(ramp(0, 64));
  const CUdeviceptr b = device.allocate(256);
  const CUdeviceptr c = device.allocate(256);
  const CUdeviceptr d = device.allocate(256);
  REQUIRE_OK(launch(step, stream.get(), a, b, 64));
  REQUIRE_OK(launch(step, nullptr, b, c, 64));
  REQUIRE_OK(launch(step, stream.get(), c, d, 64));
  CHECK(device.download(d, 64) == ramp(3, 64));
}

TEST_CASE("Streams: a null stream of a _ptsz call is the thread's own", "[sim]") {
  TestDevice device;
  const auto get_id =
      reinterpret_cast<decltype(&::cuStreamGetId)>(driver().get("cuStreamGetId_ptsz"));
  unsigned long long own = 0;
  unsigned long long named = 0;
  unsigned long long legacy = 0;
  unsigned long long others = 0;
  REQUIRE_OK(get_id(nullptr, &own));
  REQUIRE_OK(CU(cuStreamGetId)(CU_STREAM_PER_THREAD, &named));
  REQUIRE_OK(CU(cuStreamGetId)(nullptr, &legacy));
  std::thread([&] {
    CU(cuCtxSetCurrent)(device.context());
    get_id(nullptr, &others);
  }).join();
  CHECK(own == named);
  CHECK(own != legacy);
  CHECK(own != others);
  CHECK(others != legacy);
  REQUIRE_OK(get_id(CU_STREAM_LEGACY, &named));
  CHECK(named == legacy);
}

TEST_CASE("Streams: a destroyed stream is an invalid handle", "[sim]") {
  TestDevice device;
  CUstream stream = nullptr;
  REQUIRE_OK(CU(cuStreamCreate)(&stream, 0));
  const CUdeviceptr in = device.upload(ramp(0, 64));
  const CUdeviceptr out = device.allocate(256);
  REQUIRE_OK(launch(device.function("step"), stream, in, out, 64));
  REQUIRE_OK(CU(cuStreamDestroy)(stream));
  CHECK(device.download(out, 64) == ramp(1, 64));
  CHECK_ANSWER(CUDA_ERROR_INVALID_HANDLE, launch(device.function("step"), stream, in, out, 64));
  CHECK_ANSWER(CUDA_ERROR_INVALID_HANDLE, CU(cuStreamSynchronize)(stream));
  CHECK_ANSWER(CUDA_ERROR_INVALID_HANDLE, CU(cuStreamDestroy)(stream));
}

TEST_CASE("Streams: those of another context are refused with its kernels", "[sim]") {
  TestDevice other(1);
  const TestStream elsewhere;
  TestDevice device(0);
  const CUdeviceptr in = device.upload(ramp(0, 64));
  CHECK_ANSWER(CUDA_ERROR_INVALID_HANDLE,
               launch(device.function("step"), elsewhere.get(), in, in, 64));
}

TEST_CASE("Events: a wait orders two streams", "[sim]") {
  TestDevice device;
  const TestStream first;
  const TestStream second;
  const CUfunction step = device.function("step");
  CUevent ready = nullptr;
  REQUIRE_OK(CU(cuEventCreate)(&ready, CU_EVENT_DISABLE_TIMING));
  const CUdeviceptr a = device.upload(ramp(0, 64));
  const CUdeviceptr b = device.allocate(256);
  const CUdeviceptr c = device.allocate(256);
  REQUIRE_OK(launch(step, first.get(), a, b, 64));
  REQUIRE_OK(CU(cuEventRecord)(ready, first.get()));
  REQUIRE_OK(CU(cuStreamWaitEvent)(second.get(), ready, 0));
  REQUIRE_OK(launch(step, second.get(), b, c, 64));
  REQUIRE_OK(CU(cuStreamSynchronize)(second.get()));
  CHECK(device.download(c, 64) == ramp(2, 64));
  REQUIRE_OK(CU(cuEventQuery)(ready));
  REQUIRE_OK(CU(cuEventDestroy)(ready));
}

TEST_CASE("Events: elapsed time needs two timed records", "[sim]") {
  const TestDevice device;
  const TestStream stream;
  CUevent a = nullptr;
  CUevent b = nullptr;
  float ms = -1;
  REQUIRE_OK(CU(cuEventCreate)(&a, 0));
  REQUIRE_OK(CU(cuEventCreate)(&b, 0));
  REQUIRE_OK(CU(cuEventRecord)(a, stream.get()));
  CHECK_ANSWER(CUDA_ERROR_INVALID_HANDLE, CU(cuEventElapsedTime)(&ms, a, b));
  REQUIRE_OK(CU(cuEventRecord)(b, stream.get()));
  REQUIRE_OK(CU(cuEventElapsedTime)(&ms, a, b));
  CHECK(ms >= 0);
  REQUIRE_OK(CU(cuEventDestroy)(a));
  REQUIRE_OK(CU(cuEventDestroy)(b));
}

namespace {

struct HostWork {
  std::promise<void> go;
  std::atomic<bool> done{false};
  CUresult inner = CUDA_SUCCESS;
};

void host_function(void* data) {
  auto* work = static_cast<HostWork*>(data);
  work->go.get_future().wait();
  work->inner = CU(cuCtxSynchronize)();
  work->done = true;
}

}  // namespace

TEST_CASE("Host functions: run behind the stream's work and block what follows", "[sim]") {
  TestDevice device;
  const TestStream stream;
  HostWork work;
  const CUdeviceptr in = device.upload(ramp(0, 64));
  const CUdeviceptr out = device.allocate(256);
  REQUIRE_OK(launch(device.function("step"), stream.get(), in, out, 64));
  REQUIRE_OK(CU(cuLaunchHostFunc)(stream.get(), host_function, &work));
  CHECK_ANSWER(CUDA_ERROR_NOT_READY, CU(cuStreamQuery)(stream.get()));
  CHECK(!work.done);
  CHECK(device.download(out, 64) == ramp(1, 64));
  work.go.set_value();
  REQUIRE_OK(CU(cuStreamSynchronize)(stream.get()));
  CHECK(work.done);
  CHECK_ANSWER(CUDA_ERROR_NOT_PERMITTED, work.inner);
}

TEST_CASE(
    "cuLaunchKernelEx: a kernel handle runs in the context of its stream, a function only in "
    "its own",
    "[sim]") {
  constexpr int kOtherDevice = 3;
  TestDevice other(kOtherDevice);
  const TestStream stream;
  const CUdeviceptr in = other.upload(ramp(5, 64));
  const CUdeviceptr out = other.allocate(64 * sizeof(std::uint32_t));
  CUkernel kernel = nullptr;
  REQUIRE_OK(CU(cuLibraryGetKernel)(&kernel, other.library(), "step"));
  {
    const TestDevice device(0);
    const auto handle = reinterpret_cast<CUfunction>(kernel);
    CHECK_ANSWER(CUDA_ERROR_INVALID_HANDLE,
                 launch(device.function("step"), stream.get(), in, out, 64));
    CHECK_ANSWER(CUDA_SUCCESS, launch(handle, stream.get(), in, out, 64));
    CUcontext current = nullptr;
    REQUIRE_OK(CU(cuCtxGetCurrent)(&current));
    CHECK(current == device.context());
  }
  REQUIRE_OK(CU(cuCtxSetCurrent)(other.context()));
  REQUIRE_OK(CU(cuStreamSynchronize)(stream.get()));
  CHECK(other.download(out, 64) == ramp(6, 64));
}

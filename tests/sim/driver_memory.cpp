// SPDX-License-Identifier: Apache-2.0
// Contexts, memory, copies and pointer queries.
#include "driver_support.hpp"

#include <cstring>
#include <thread>

using namespace quantjit::simtest;

TEST_CASE("Contexts: the stack of each thread is its own", "[sim]") {
  const TestDevice device;
  CUcontext made = nullptr;
  CUcontext current = nullptr;
  REQUIRE_OK(CU(cuCtxCreate)(&made, nullptr, 0, 1));
  REQUIRE_OK(CU(cuCtxGetCurrent)(&current));
  CHECK(current == made);
  std::thread([&] {
    CUcontext other = made;
    CU(cuCtxGetCurrent)(&other);
    current = other;
  }).join();
  CHECK(current == nullptr);
  CUdevice ordinal = 9;
  REQUIRE_OK(CU(cuCtxGetDevice)(&ordinal));
  CHECK(ordinal == 1);
  REQUIRE_OK(CU(cuCtxPopCurrent)(&current));
  CHECK(current == made);
  REQUIRE_OK(CU(cuCtxGetDevice)(&ordinal));
  CHECK(ordinal == 0);
  REQUIRE_OK(CU(cuCtxDestroy)(made));
  CHECK_ANSWER(CUDA_ERROR_INVALID_CONTEXT, CU(cuCtxDestroy)(made));
}

TEST_CASE("Contexts: destroying one frees its memory, streams and events", "[sim]") {
  const TestDevice device;
  CUcontext made = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr address = 0;
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  REQUIRE_OK(CU(cuMemGetInfo)(&before, &total));
  REQUIRE_OK(CU(cuCtxCreate)(&made, nullptr, 0, 0));
  REQUIRE_OK(CU(cuMemAlloc)(&address, 1 << 20));
  REQUIRE_OK(CU(cuStreamCreate)(&stream, 0));
  REQUIRE_OK(CU(cuEventCreate)(&event, 0));
  REQUIRE_OK(CU(cuCtxDestroy)(made));
  REQUIRE_OK(CU(cuMemGetInfo)(&after, &total));
  CHECK(after == before);
  CHECK_ANSWER(CUDA_ERROR_INVALID_HANDLE, CU(cuStreamSynchronize)(stream));
  CHECK_ANSWER(CUDA_ERROR_INVALID_HANDLE, CU(cuEventQuery)(event));
  CHECK_ANSWER(CUDA_ERROR_INVALID_VALUE, CU(cuMemFree)(address));
}

TEST_CASE("Memory: copies and fills touch exactly their bytes", "[sim]") {
  TestDevice device;
  const std::vector<std::uint32_t> poison(64, 0xdeadbeef);
  const CUdeviceptr at = device.upload(poison);
  const std::vector<std::uint32_t> words = ramp(100, 8);
  REQUIRE_OK(CU(cuMemcpyHtoD)(at + 16, words.data(), 32));
  REQUIRE_OK(CU(cuMemsetD8)(at + 61, 0x11, 3));
  REQUIRE_OK(CU(cuMemsetD16)(at + 66, 0x2233, 1));
  REQUIRE_OK(CU(cuMemsetD32)(at + 72, 0x44556677, 2));
  REQUIRE_OK(CU(cuMemcpyDtoD)(at + 128, at + 16, 12));
  std::vector<std::uint32_t> expected = poison;
  std::memcpy(&expected[4], words.data(), 32);
  expected[15] = 0x111111ef;
  expected[16] = 0x2233beef;
  expected[18] = expected[19] = 0x44556677;
  std::memcpy(&expected[32], words.data(), 12);
  CHECK(device.download(at, 64) == expected);
  CHECK_ANSWER(CUDA_ERROR_INVALID_VALUE, CU(cuMemcpyHtoD)(at + 252, words.data(), 8));
  CHECK(device.download(at, 64) == expected);
}

TEST_CASE("Memory: one address space holds all devices and the host", "[sim]") {
  TestDevice second(1);
  const CUdeviceptr there = second.upload(ramp(7, 16));
  TestDevice first(0);
  const CUdeviceptr here = first.allocate(64);
  REQUIRE_OK(CU(cuMemcpy)(here, there, 64));
  CHECK(first.download(here, 16) == ramp(7, 16));
  std::vector<std::uint32_t> host(16);
  REQUIRE_OK(CU(cuMemcpy)(reinterpret_cast<CUdeviceptr>(host.data()), there, 64));
  CHECK(host == ramp(7, 16));
  int ordinal = 9;
  REQUIRE_OK(CU(cuPointerGetAttribute)(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there + 63));
  CHECK(ordinal == 1);
  REQUIRE_OK(CU(cuPointerGetAttribute)(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, here));
  CHECK(ordinal == 0);
  CUcontext owner = nullptr;
  REQUIRE_OK(CU(cuPointerGetAttribute)(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, there));
  CHECK(owner == second.context());
}

TEST_CASE("Memory: the device's size is a limit, and freeing gives back", "[sim]") {
  const TestDevice device(2);
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  REQUIRE_OK(CU(cuMemGetInfo)(&free_bytes, &total));
  CUdeviceptr most = 0;
  CUdeviceptr more = 0;
  REQUIRE_OK(CU(cuMemAlloc)(&most, free_bytes / 4 * 3));
  CHECK_ANSWER(CUDA_ERROR_OUT_OF_MEMORY, CU(cuMemAlloc)(&more, free_bytes / 2));
  REQUIRE_OK(CU(cuMemFree)(most));
  REQUIRE_OK(CU(cuMemAlloc)(&more, free_bytes / 2));
  REQUIRE_OK(CU(cuMemFree)(more));
}

TEST_CASE("Memory: what a stream frees is freed after its kernels", "[sim]") {
  TestDevice device;
  const TestStream stream;
  const CUdeviceptr in = device.upload(ramp(0, 64));
  const CUdeviceptr out = device.allocate(256);
  CUdeviceptr middle = 0;
  REQUIRE_OK(CU(cuMemAllocAsync)(&middle, 256, stream.get()));
  REQUIRE_OK(launch(device.function("step"), stream.get(), in, middle, 64));
  REQUIRE_OK(launch(device.function("step"), stream.get(), middle, out, 64));
  REQUIRE_OK(CU(cuMemFreeAsync)(middle, stream.get()));
  REQUIRE_OK(CU(cuStreamSynchronize)(stream.get()));
  CHECK(device.download(out, 64) == ramp(2, 64));
}

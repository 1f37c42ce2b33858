// SPDX-License-Identifier: Apache-2.0
// Code images: what is accepted, what is refused and why, and what kernels answer.
#include "driver_support.hpp"

#include <algorithm>
#include <array>

using namespace quantjit::simtest;
using quantjit::test::ContainsSubstring;

namespace {

/// Loads an image and returns the driver's message.
std::string log_of(CUresult& result, const void* image) {
  std::array<char, 1024> log{};
  CUlibrary library = nullptr;
  CUjit_option keys[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  result = CU(cuLibraryLoadData)(&library, image, keys, values, 2, nullptr, nullptr, 0);
  if (result == CUDA_SUCCESS) {
    CU(cuLibraryUnload)(library);
  } else {
    CHECK(reinterpret_cast<std::size_t>(values[1]) == std::string(log.data()).size());
  }
  return log.data();
}

CUresult load(CUlibrary& library, const std::string& text) {
  return CU(cuLibraryLoadData)(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
}

}  // namespace

TEST_CASE("Images: machine code is refused with the reason", "[sim]") {
  const TestDevice device;
  std::array<unsigned char, 64> elf{0x7f, 'E', 'L', 'F', 2, 1, 1};
  std::array<unsigned char, 64> fatbin{0x50, 0xed, 0x55, 0xba, 1};
  CUresult result{};
  CHECK_THAT(log_of(result, elf.data()), ContainsSubstring("cubin"));
  CHECK_ANSWER(CUDA_ERROR_NO_BINARY_FOR_GPU, result);
  CHECK_THAT(log_of(result, fatbin.data()), ContainsSubstring("fat binary"));
  CHECK_ANSWER(CUDA_ERROR_NO_BINARY_FOR_GPU, result);
  log_of(result, "");
  CHECK_ANSWER(CUDA_ERROR_INVALID_IMAGE, result);
  log_of(result, "abc");
  CHECK_ANSWER(CUDA_ERROR_INVALID_IMAGE, result);
}

TEST_CASE("Images: PTX that is wrong is refused with its line", "[sim]") {
  const TestDevice device;
  CUresult result{};
  const std::string head = ".version 8.0\n.target sm_90\n.address_size 64\n";
  const std::string log =
      log_of(result, (head + ".visible .entry k()\n{\n  frobnicate.u32 %r1;\n  ret;\n}\n").c_str());
  CHECK_ANSWER(CUDA_ERROR_INVALID_PTX, result);
  CHECK_THAT(log, ContainsSubstring("6"));
  CHECK_THAT(log, ContainsSubstring("frobnicate"));
  CHECK_THAT(log_of(result, ".version 99.1\n.target sm_90\n"), ContainsSubstring("99.1"));
  CHECK_ANSWER(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, result);
  CHECK_THAT(log_of(result, test_ptx("sm_103a").c_str()), ContainsSubstring("sm_103a"));
  CHECK_ANSWER(CUDA_ERROR_INVALID_PTX, result);
}

TEST_CASE("Images: a target runs on its arch, and a general one on newer ones", "[sim]") {
  struct Row {
    const char* target;
    std::array<bool, 3> runs;  // on sm_90a, sm_100a, sm_120a
  };

  for (const Row& row : {Row{"sm_80", {true, true, true}}, Row{"sm_90", {true, true, true}},
                         Row{"sm_90a", {true, false, false}}, Row{"sm_100", {false, true, true}},
                         Row{"sm_100a", {false, true, false}}, Row{"sm_100f", {false, true, false}},
                         Row{"sm_120f", {false, false, true}}}) {
    for (int i = 0; i < 3; ++i) {
      CAPTURE(row.target, i);
      const TestDevice device(i);
      CUlibrary library = nullptr;
      CUkernel kernel = nullptr;
      CUmodule module = nullptr;
      REQUIRE_OK(load(library, test_ptx(row.target)));
      const bool expected = row.runs[static_cast<std::size_t>(i)];
      const std::string answer = expected ? "CUDA_SUCCESS" : "CUDA_ERROR_INVALID_PTX";
      CHECK(result_name(CU(cuLibraryGetKernel)(&kernel, library, "step")) == answer);
      CHECK(result_name(CU(cuModuleLoadData)(&module, test_ptx(row.target).c_str())) == answer);
      CU(cuLibraryUnload)(library);
    }
  }
}

TEST_CASE("Libraries: kernels are found, listed and gone with the library", "[sim]") {
  TestDevice device;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  REQUIRE_OK(load(library, test_ptx()));
  REQUIRE_OK(CU(cuLibraryGetKernel)(&kernel, library, "step"));
  REQUIRE_OK(CU(cuKernelGetFunction)(&function, kernel));
  unsigned count = 0;
  REQUIRE_OK(CU(cuLibraryGetKernelCount)(&count, library));
  std::vector<CUkernel> all(count);
  REQUIRE_OK(CU(cuLibraryEnumerateKernels)(all.data(), count, library));
  CHECK(std::count(all.begin(), all.end(), kernel) == 1);
  const CUdeviceptr in = device.upload(ramp(0, 64));
  const CUdeviceptr out = device.allocate(256);
  REQUIRE_OK(launch(function, nullptr, in, out, 64));
  REQUIRE_OK(CU(cuLibraryUnload)(library));
  CHECK(device.download(out, 64) == ramp(1, 64));
  CHECK_ANSWER(CUDA_ERROR_INVALID_HANDLE, launch(function, nullptr, in, out, 64));
  CHECK_ANSWER(CUDA_ERROR_INVALID_HANDLE, CU(cuKernelGetFunction)(&function, kernel));
  CHECK_ANSWER(CUDA_ERROR_INVALID_HANDLE, CU(cuLibraryUnload)(library));
}

TEST_CASE("Modules: functions belong to the module's context", "[sim]") {
  TestDevice device;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  REQUIRE_OK(CU(cuModuleLoadData)(&module, test_ptx().c_str()));
  REQUIRE_OK(CU(cuModuleGetFunction)(&function, module, "step"));
  CHECK_ANSWER(CUDA_ERROR_NOT_FOUND, CU(cuModuleGetFunction)(&function, module, "absent"));
  const CUdeviceptr in = device.upload(ramp(5, 64));
  const CUdeviceptr out = device.allocate(256);
  REQUIRE_OK(launch(function, nullptr, in, out, 64));
  CHECK(device.download(out, 64) == ramp(6, 64));
  REQUIRE_OK(CU(cuModuleUnload)(module));
  CHECK_ANSWER(CUDA_ERROR_INVALID_HANDLE, launch(function, nullptr, in, out, 64));
}

TEST_CASE("Kernels: settings are kept for each device", "[sim]") {
  const TestDevice first(0);
  CUkernel kernel = nullptr;
  REQUIRE_OK(CU(cuLibraryGetKernel)(&kernel, first.library(), "mirror"));
  const auto dynamic = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  REQUIRE_OK(CU(cuKernelSetAttribute)(dynamic, 65536, kernel, 0));
  int value = 0;
  REQUIRE_OK(CU(cuKernelGetAttribute)(&value, dynamic, kernel, 0));
  CHECK(value == 65536);
  REQUIRE_OK(CU(cuKernelGetAttribute)(&value, dynamic, kernel, 1));
  CHECK(value == 49152);
  CHECK_ANSWER(CUDA_ERROR_INVALID_VALUE, CU(cuKernelSetAttribute)(dynamic, 102400, kernel, 2));
  REQUIRE_OK(CU(cuKernelSetAttribute)(dynamic, 102400, kernel, 1));
}

TEST_CASE("Launches: dynamic shared memory needs the attribute", "[sim]") {
  TestDevice device;
  const CUfunction mirror = device.function("mirror");
  CUdeviceptr in = device.upload(ramp(0, 128));
  CUdeviceptr out = device.allocate(512);
  unsigned count = 128;
  void* parameters[] = {&in, &out, &count};
  const auto go = [&](unsigned bytes) {
    return CU(cuLaunchKernel)(mirror, 2, 1, 1, 64, 1, 1, bytes, nullptr, parameters, nullptr);
  };
  REQUIRE_OK(go(256));
  std::vector<std::uint32_t> expected(128);
  for (std::uint32_t i = 0; i < 128; ++i) {
    expected[i] = i / 64 * 64 + 63 - i % 64;
  }
  CHECK(device.download(out, 128) == expected);
  CHECK_ANSWER(CUDA_ERROR_INVALID_VALUE, go(49153));
  REQUIRE_OK(
      CU(cuFuncSetAttribute)(mirror, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
  CHECK_ANSWER(CUDA_SUCCESS, go(232448));
  CHECK_ANSWER(CUDA_SUCCESS, CU(cuCtxSynchronize)());
}

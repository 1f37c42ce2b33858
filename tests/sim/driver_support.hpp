// SPDX-License-Identifier: Apache-2.0
// What the driver tests share: the library under test, checked calls, and a device with kernels.
#pragma once

#include "driver_entry.hpp"
#include "tests/support/catch.hpp"
#include "tools/simcuda/simcuda.h"

#include <cstdint>
#include <string>
#include <vector>

/// Requires a driver call to succeed; names the error otherwise.
#define REQUIRE_OK(...) REQUIRE(::quantjit::simtest::result_name(__VA_ARGS__) == "CUDA_SUCCESS")
/// Checks that a driver call answers with an error.
#define CHECK_ANSWER(expected, ...) \
  CHECK(::quantjit::simtest::result_name(__VA_ARGS__) == #expected)
/// The address of a function of simcuda.h in the library under test.
#define SIM(name) \
  (reinterpret_cast<decltype(&::name)>(::quantjit::simtest::driver().get(QUANTJIT_TEXT_OF(name))))

namespace quantjit::simtest {

/// The test kernels as PTX text for a `.target`.
std::string test_ptx(const std::string& target = "sm_90");

/// Device 0 is an H200, 1 a B200, 2 an RTX 5090 and 3 an H200 again.
constexpr int kDevices = 4;

/// A device's primary context, current in the constructing thread, with the test kernels loaded.
class TestDevice {
 public:
  explicit TestDevice(int ordinal = 0);
  ~TestDevice();
  TestDevice(const TestDevice&) = delete;
  TestDevice& operator=(const TestDevice&) = delete;

  [[nodiscard]] CUcontext context() const { return context_; }

  [[nodiscard]] CUlibrary library() const { return library_; }

  [[nodiscard]] CUfunction function(const char* name) const;

  /// An allocation that holds `words`.
  CUdeviceptr upload(const std::vector<std::uint32_t>& words);
  /// An uninitialized allocation.
  CUdeviceptr allocate(std::size_t bytes);
  [[nodiscard]] std::vector<std::uint32_t> download(CUdeviceptr from, std::size_t words) const;

 private:
  int ordinal_;
  CUcontext context_ = nullptr;
  CUlibrary library_ = nullptr;
  std::vector<CUdeviceptr> allocations_;
};

/// A stream that is destroyed with the object.
class TestStream {
 public:
  explicit TestStream(unsigned flags = CU_STREAM_NON_BLOCKING);
  ~TestStream();
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;

  [[nodiscard]] CUstream get() const { return stream_; }

 private:
  CUstream stream_ = nullptr;
};

enum class Serialization { kFull, kProgrammatic };

/// Launches a kernel whose parameters are two addresses and a count, `threads` threads a block.
CUresult launch(CUfunction function, CUstream stream, CUdeviceptr in, CUdeviceptr out,
                std::uint32_t count, Serialization serialization = Serialization::kFull,
                unsigned threads = 64);

/// `count` consecutive words from `first` on.
std::vector<std::uint32_t> ramp(std::uint32_t first, std::size_t count);

/// Puts the simulator back to its defaults at both ends of a test that provokes faults.
class CleanSimulator {
 public:
  CleanSimulator() { restore(); }

  ~CleanSimulator() { restore(); }

  CleanSimulator(const CleanSimulator&) = delete;
  CleanSimulator& operator=(const CleanSimulator&) = delete;

 private:
  static void restore();
};

/// Runs a program to its end with these environment settings and returns what it wrote to stdout.
/// `status` receives the exit status.
std::string run_program(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment, int& status);

}  // namespace quantjit::simtest

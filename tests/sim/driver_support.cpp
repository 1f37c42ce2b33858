// SPDX-License-Identifier: Apache-2.0
#include "driver_support.hpp"

#include <array>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace quantjit::simtest {

const DriverLibrary& driver() {
  static const DriverLibrary library = [] {
    // Read at cuInit, so before the first use of the library.
    setenv("QUANTJIT_SIM_DEVICES", "sm_90a,sm_100a,sm_120a,sm_90a", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return DriverLibrary(QUANTJIT_SIMCUDA_LIBRARY);
  }();
  return library;
}

std::string result_name(CUresult result) {
  const char* name = nullptr;
  CU(cuGetErrorName)(result, &name);
  return name == nullptr ? "unnamed " + std::to_string(static_cast<int>(result)) : name;
}

TestDevice::TestDevice(int ordinal) : ordinal_(ordinal) {
  REQUIRE_OK(CU(cuInit)(0));
  REQUIRE_OK(CU(cuDevicePrimaryCtxRetain)(&context_, ordinal));
  REQUIRE_OK(CU(cuCtxSetCurrent)(context_));
  REQUIRE_OK(CU(cuLibraryLoadData)(&library_, test_ptx().c_str(), nullptr, nullptr, 0, nullptr,
                                   nullptr, 0));
}

TestDevice::~TestDevice() {
  CU(cuCtxSetCurrent)(context_);
  for (const CUdeviceptr allocation : allocations_) {
    CU(cuMemFree)(allocation);
  }
  CU(cuLibraryUnload)(library_);
  CU(cuDevicePrimaryCtxRelease)(ordinal_);
  CU(cuCtxSetCurrent)(nullptr);
}

CUfunction TestDevice::function(const char* name) const {
  CUkernel kernel = nullptr;
  CUfunction found = nullptr;
  REQUIRE_OK(CU(cuLibraryGetKernel)(&kernel, library_, name));
  REQUIRE_OK(CU(cuKernelGetFunction)(&found, kernel));
  return found;
}

CUdeviceptr TestDevice::upload(const std::vector<std::uint32_t>& words) {
  const CUdeviceptr to = allocate(words.size() * sizeof(std::uint32_t));
  REQUIRE_OK(CU(cuMemcpyHtoD)(to, words.data(), words.size() * sizeof(std::uint32_t)));
  return to;
}

CUdeviceptr TestDevice::allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  REQUIRE_OK(CU(cuMemAlloc)(&address, bytes));
  allocations_.push_back(address);
  return address;
}

std::vector<std::uint32_t> TestDevice::download(CUdeviceptr from, std::size_t words) const {
  std::vector<std::uint32_t> out(words);
  REQUIRE_OK(CU(cuMemcpyDtoH)(out.data(), from, words * sizeof(std::uint32_t)));
  return out;
}

TestStream::TestStream(unsigned flags) {
  REQUIRE_OK(CU(cuStreamCreate)(&stream_, flags));
}

TestStream::~TestStream() {
  CU(cuStreamDestroy)(stream_);
}

CUresult launch(CUfunction function, CUstream stream, CUdeviceptr in, CUdeviceptr out,
                std::uint32_t count, Serialization serialization, unsigned threads) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = (count + threads - 1) / threads;
  config.gridDimY = 1;
  config.gridDimZ = 1;
  config.blockDimX = threads;
  config.blockDimY = 1;
  config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = serialization == Serialization::kProgrammatic ? 1 : 0;
  void* parameters[] = {&in, &out, &count};
  return CU(cuLaunchKernelEx)(&config, function, parameters, nullptr);
}

std::vector<std::uint32_t> ramp(std::uint32_t first, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = first + static_cast<std::uint32_t>(i);
  }
  return words;
}

void CleanSimulator::restore() {
  SIM(qj_sim_reset)();
  SIM(qj_sim_set_fault_policy)(QJ_SIM_FAULT_STICKY);
  SIM(qj_sim_set_launch_policy)(QJ_SIM_LAUNCH_DEFERRED);
  SIM(qj_sim_set_instruction_limit)(0);
  SIM(qj_sim_set_seed)(0);
}

std::string run_program(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment, int& status) {
  std::vector<char*> argv;
  std::vector<char*> envp;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  for (const std::string& setting : environment) {
    envp.push_back(const_cast<char*>(setting.c_str()));
  }
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t child = 0;
  const int spawned = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  std::array<char, 4096> chunk{};
  for (ssize_t got = 0; (got = read(ends[0], chunk.data(), chunk.size())) > 0;) {
    output.append(chunk.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  REQUIRE(spawned == 0);
  REQUIRE(waitpid(child, &status, 0) == child);
  return output;
}

}  // namespace quantjit::simtest

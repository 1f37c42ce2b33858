// SPDX-License-Identifier: Apache-2.0
// What a faulting kernel leaves behind, and the control interface.
#include "driver_support.hpp"

#include <thread>

using namespace quantjit::simtest;
using quantjit::test::ContainsSubstring;

namespace {

struct Scene {
  CleanSimulator clean;
  TestDevice device;
  TestStream stream;
  CUdeviceptr in = device.upload(ramp(0, 64));
  CUdeviceptr out = device.upload(ramp(0, 64));

  CUresult go(const char* kernel) {
    return launch(device.function(kernel), stream.get(), in, out, 64);
  }

  CUresult synchronize() { return CU(cuStreamSynchronize)(stream.get()); }
};

}  // namespace

TEST_CASE("Faults: each kind leaves its error, sticky until the reset", "[sim]") {
  Scene s;

  struct Row {
    const char* kernel;
    const char* error;
    const char* text;
  };

  for (const Row& row : {Row{"past_the_end", "CUDA_ERROR_ILLEGAL_ADDRESS", "thread (63,0,0)"},
                         Row{"misaligned", "CUDA_ERROR_MISALIGNED_ADDRESS", "st.global.u32"},
                         Row{"traps", "CUDA_ERROR_LAUNCH_FAILED", "trap"}}) {
    CAPTURE(row.kernel);
    CUdeviceptr address = 0;
    REQUIRE_OK(s.go(row.kernel));
    CHECK(result_name(s.synchronize()) == row.error);
    CHECK(result_name(s.synchronize()) == row.error);
    CHECK(result_name(CU(cuCtxSynchronize)()) == row.error);
    CHECK(result_name(CU(cuMemAlloc)(&address, 64)) == row.error);
    CHECK(result_name(CU(cuMemFree)(s.in)) == row.error);
    CHECK(result_name(launch(nullptr, s.stream.get(), s.in, s.out, 64)) == row.error);
    int count = 0;
    REQUIRE_OK(CU(cuDeviceGetCount)(&count));
    const std::string fault = SIM(qj_sim_last_fault)();
    CHECK_THAT(fault, ContainsSubstring(row.kernel));
    CHECK_THAT(fault, ContainsSubstring(row.text));
    SIM(qj_sim_reset)();
    CHECK(std::string(SIM(qj_sim_last_fault)()).empty());
    REQUIRE_OK(s.go("step"));
    REQUIRE_OK(s.synchronize());
    CHECK(s.device.download(s.out, 64) == ramp(1, 64));
  }
}

TEST_CASE("Faults: another device's context goes on", "[sim]") {
  Scene s;
  REQUIRE_OK(s.go("traps"));
  CHECK_ANSWER(CUDA_ERROR_LAUNCH_FAILED, s.synchronize());
  TestDevice other(1);
  const CUdeviceptr in = other.upload(ramp(3, 64));
  const CUdeviceptr out = other.allocate(256);
  REQUIRE_OK(launch(other.function("step"), nullptr, in, out, 64));
  CHECK(other.download(out, 64) == ramp(4, 64));
  REQUIRE_OK(CU(cuCtxSetCurrent)(s.device.context()));
  SIM(qj_sim_reset)();
}

TEST_CASE("Faults: work queued behind the fault is not executed", "[sim]") {
  Scene s;
  REQUIRE_OK(s.go("traps"));
  launch(s.device.function("step_waits"), s.stream.get(), s.in, s.out, 64,
         Serialization::kProgrammatic);
  CHECK_ANSWER(CUDA_ERROR_LAUNCH_FAILED, s.synchronize());
  SIM(qj_sim_reset)();
  REQUIRE_OK(s.synchronize());
  CHECK(s.device.download(s.out, 64) == ramp(0, 64));
}

TEST_CASE("Faults: the reporting policy keeps the context usable", "[sim]") {
  Scene s;
  REQUIRE(SIM(qj_sim_set_fault_policy)(QJ_SIM_FAULT_REPORT) == 0);
  REQUIRE_OK(s.go("traps"));
  REQUIRE_OK(s.go("step"));
  REQUIRE_OK(s.synchronize());
  CHECK(s.device.download(s.out, 64) == ramp(1, 64));
  CHECK_THAT(std::string(SIM(qj_sim_last_fault)()), ContainsSubstring("traps"));
  CHECK(SIM(qj_sim_set_fault_policy)(77) == 1);
}

TEST_CASE("Faults: under immediate launches the launching call answers", "[sim]") {
  Scene s;
  REQUIRE(SIM(qj_sim_set_launch_policy)(QJ_SIM_LAUNCH_IMMEDIATE) == 0);
  CHECK_ANSWER(CUDA_ERROR_ILLEGAL_ADDRESS, s.go("past_the_end"));
  CHECK(SIM(qj_sim_set_launch_policy)(-1) == 1);
}

TEST_CASE("Faults: the instruction limit ends an endless kernel", "[sim]") {
  Scene s;
  SIM(qj_sim_set_instruction_limit)(1000000);
  REQUIRE_OK(s.go("endless"));
  CHECK_ANSWER(CUDA_ERROR_LAUNCH_TIMEOUT, s.synchronize());
  SIM(qj_sim_reset)();
}

TEST_CASE("Faults: a use of freed memory is reported as such", "[sim]") {
  Scene s;
  CUdeviceptr gone = 0;
  REQUIRE_OK(CU(cuMemAlloc)(&gone, 256));
  REQUIRE_OK(CU(cuMemsetD8)(gone, 0, 256));
  REQUIRE_OK(CU(cuMemFree)(gone));
  REQUIRE_OK(launch(s.device.function("step"), s.stream.get(), gone, s.out, 64));
  CHECK_ANSWER(CUDA_ERROR_ILLEGAL_ADDRESS, s.synchronize());
  CHECK_THAT(std::string(SIM(qj_sim_last_fault)()), ContainsSubstring("freed"));
  SIM(qj_sim_reset)();
}

TEST_CASE("Faults: a read of memory that nobody wrote is reported", "[sim]") {
  Scene s;
  const CUdeviceptr fresh = s.device.allocate(256);
  REQUIRE_OK(launch(s.device.function("step"), s.stream.get(), fresh, s.out, 64));
  CHECK_ANSWER(CUDA_ERROR_LAUNCH_FAILED, s.synchronize());
  CHECK_THAT(std::string(SIM(qj_sim_last_fault)()), ContainsSubstring("never written"));
  SIM(qj_sim_reset)();
}

TEST_CASE("Statistics: launches, blocks and instructions are counted", "[sim]") {
  Scene s;
  SIM(qj_sim_reset_statistics)();
  REQUIRE_OK(s.go("step"));
  REQUIRE_OK(s.go("step"));
  REQUIRE_OK(s.synchronize());
  qj_sim_statistics statistics{};
  CHECK(SIM(qj_sim_get_statistics)(&statistics) == 1);
  statistics.struct_size = sizeof(statistics);
  REQUIRE(SIM(qj_sim_get_statistics)(&statistics) == 0);
  CHECK(statistics.launches == 2);
  CHECK(statistics.ctas == 2);
  CHECK(statistics.faults == 0);
  CHECK(statistics.lane_instructions >= 2 * 64 * 10);
  CHECK(statistics.warp_instructions >= 2 * 2 * 10);
  CHECK(statistics.seconds > 0);
}

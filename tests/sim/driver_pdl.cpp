// SPDX-License-Identifier: Apache-2.0
// Programmatic dependent launch: correct kernels pass whatever the simulator chooses, planted bugs
// are found.
#include "driver_support.hpp"

using namespace quantjit::simtest;
using quantjit::test::ContainsSubstring;

namespace {

constexpr std::uint32_t kCount = 512;  // 8 blocks
constexpr std::size_t kBytes = kCount * sizeof(std::uint32_t);

/// Runs `names` as a chain over buffers, each launched programmatically but the first; returns the
/// synchronization's answer.
class Chain {
 public:
  explicit Chain(const std::vector<const char*>& names) {
    buffers_.push_back(device_.upload(ramp(0, kCount)));
    for (const char* name : names) {
      functions_.push_back(device_.function(name));
      buffers_.push_back(device_.allocate(kBytes));
    }
  }

  CUresult run() {
    for (std::size_t i = 1; i < buffers_.size(); ++i) {
      REQUIRE_OK(CU(cuMemsetD32)(buffers_[i], 0, kCount));
    }
    submit();
    return CU(cuStreamSynchronize)(stream_.get());
  }

  void submit() {
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      REQUIRE_OK(launch(functions_[i], stream_.get(), buffers_[i], buffers_[i + 1], kCount,
                        i == 0 ? Serialization::kFull : Serialization::kProgrammatic));
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> result() const {
    return device_.download(buffers_.back(), kCount);
  }

  [[nodiscard]] CUstream stream() const { return stream_.get(); }

  [[nodiscard]] CUdeviceptr buffer(std::size_t i) const { return buffers_[i]; }

  [[nodiscard]] CUfunction function(std::size_t i) const { return functions_[i]; }

 private:
  TestDevice device_;
  TestStream stream_;
  std::vector<CUfunction> functions_;
  std::vector<CUdeviceptr> buffers_;
};

std::uint64_t early_grids() {
  qj_sim_statistics statistics{};
  statistics.struct_size = sizeof(statistics);
  REQUIRE(SIM(qj_sim_get_statistics)(&statistics) == 0);
  return statistics.early_grids;
}

/// The first seed below 50 under which the chain does not succeed, with its fault text.
std::string first_fault(Chain& chain) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SIM(qj_sim_set_seed)(seed);
    if (chain.run() != CUDA_SUCCESS) {
      const std::string text = SIM(qj_sim_last_fault)();
      SIM(qj_sim_reset)();
      return text;
    }
  }
  return "";
}

}  // namespace

TEST_CASE("PDL: a chain of waiting kernels is right under 200 seeds", "[sim]") {
  const CleanSimulator clean;
  Chain chain({"step", "step_waits", "step_triggers_first", "step_triggers_first", "step_waits",
               "step_triggers_first", "step_waits", "step_waits"});
  const std::uint64_t before = early_grids();
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed, std::string(SIM(qj_sim_last_fault)()));
    SIM(qj_sim_set_seed)(seed);
    REQUIRE_OK(chain.run());
    REQUIRE(chain.result() == ramp(8, kCount));
  }
  // The freedom was used: most dependent grids really had CTAs that started early.
  CHECK(early_grids() - before > 200 * 7 / 2);
}

TEST_CASE("PDL: the replay of a captured chain starts kernels early too", "[sim]") {
  const CleanSimulator clean;
  Chain chain({"step", "step_waits", "step_triggers_first", "step_waits"});
  REQUIRE_OK(chain.run());
  REQUIRE_OK(CU(cuStreamBeginCapture)(chain.stream(), CU_STREAM_CAPTURE_MODE_GLOBAL));
  chain.submit();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  REQUIRE_OK(CU(cuStreamEndCapture)(chain.stream(), &graph));
  REQUIRE_OK(CU(cuGraphInstantiate)(&exec, graph, 0));
  const std::uint64_t before = early_grids();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    SIM(qj_sim_set_seed)(seed);
    for (std::size_t i = 1; i < 5; ++i) {
      REQUIRE_OK(CU(cuMemsetD32)(chain.buffer(i), 0, kCount));
    }
    REQUIRE_OK(CU(cuGraphLaunch)(exec, chain.stream()));
    REQUIRE_OK(CU(cuStreamSynchronize)(chain.stream()));
    REQUIRE(chain.result() == ramp(4, kCount));
  }
  CHECK(early_grids() - before > 50 * 3 / 2);
  REQUIRE_OK(CU(cuGraphExecDestroy)(exec));
  REQUIRE_OK(CU(cuGraphDestroy)(graph));
}

TEST_CASE("PDL: a missing wait is found, with both kernels named", "[sim]") {
  const CleanSimulator clean;
  Chain chain({"step", "step_never_waits"});
  const std::string fault = first_fault(chain);
  CHECK_THAT(fault, ContainsSubstring("step_never_waits"));
  CHECK_THAT(fault, ContainsSubstring("griddepcontrol.wait"));
}

TEST_CASE("PDL: a read before the wait is found under every seed", "[sim]") {
  const CleanSimulator clean;
  Chain chain({"step", "step_reads_early"});
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    SIM(qj_sim_set_seed)(seed);
    CHECK_ANSWER(CUDA_ERROR_LAUNCH_FAILED, chain.run());
    const std::string fault = SIM(qj_sim_last_fault)();
    CHECK_THAT(fault, ContainsSubstring("kernel step_reads_early"));
    CHECK_THAT(fault, ContainsSubstring("while step may"));
    CHECK_THAT(fault, ContainsSubstring("ld.global.u32"));
    SIM(qj_sim_reset)();
  }
}

TEST_CASE("PDL: the same read is fine when nothing in flight wrote the data", "[sim]") {
  const CleanSimulator clean;
  Chain chain({"step", "step_reads_early"});
  const CUdeviceptr elsewhere = chain.buffer(2);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    SIM(qj_sim_set_seed)(seed);
    REQUIRE_OK(launch(chain.function(0), chain.stream(), chain.buffer(0), chain.buffer(1), kCount));
    REQUIRE_OK(launch(chain.function(1), chain.stream(), chain.buffer(0), elsewhere, kCount,
                      Serialization::kProgrammatic));
    REQUIRE_OK(CU(cuStreamSynchronize)(chain.stream()));
    CHECK(chain.result() == ramp(1, kCount));
  }
}

TEST_CASE("PDL: a write before the wait over what the predecessor writes is found", "[sim]") {
  const CleanSimulator clean;
  Chain chain({"step", "step_writes_early"});
  const std::string fault = first_fault(chain);
  CHECK_THAT(fault, ContainsSubstring("kernel step_writes_early"));
  CHECK_THAT(fault, ContainsSubstring("while step may"));
}

TEST_CASE("PDL: a write before the wait over what the predecessor reads is found", "[sim]") {
  const CleanSimulator clean;
  Chain chain({"step", "step_writes_early"});
  REQUIRE_OK(CU(cuMemsetD32)(chain.buffer(1), 0, kCount));
  std::string fault;
  for (std::uint64_t seed = 0; seed < 50 && fault.empty(); ++seed) {
    SIM(qj_sim_set_seed)(seed);
    REQUIRE_OK(launch(chain.function(0), chain.stream(), chain.buffer(0), chain.buffer(1), kCount));
    REQUIRE_OK(launch(chain.function(1), chain.stream(), chain.buffer(0), chain.buffer(2), kCount,
                      Serialization::kProgrammatic));
    CU(cuStreamSynchronize)(chain.stream());
    fault = SIM(qj_sim_last_fault)();
  }
  CHECK_THAT(fault, ContainsSubstring("kernel step_writes_early"));
  CHECK_THAT(fault, ContainsSubstring("writes"));
  CHECK_THAT(fault, ContainsSubstring("while step may"));
}

TEST_CASE("PDL: a block that exits before the wait is found under every seed", "[sim]") {
  const CleanSimulator clean;
  Chain chain({"step", "step_exits_early"});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    SIM(qj_sim_set_seed)(seed);
    CHECK_ANSWER(CUDA_ERROR_LAUNCH_FAILED, chain.run());
    CHECK_THAT(std::string(SIM(qj_sim_last_fault)()),
               ContainsSubstring("step_exits_early, block (1,0,0)"));
    SIM(qj_sim_reset)();
  }
}

TEST_CASE("PDL: an early trigger lets the next kernel but one overtake", "[sim]") {
  const CleanSimulator clean;
  // The third kernel reads before its wait what the first wrote: only wrong because the second
  // allowed dependents before it waited itself.
  TestDevice device;
  const TestStream stream;
  const CUdeviceptr a = device.upload(ramp(0, kCount));
  const CUdeviceptr b = device.upload(ramp(0, kCount));
  const CUdeviceptr c = device.upload(ramp(0, kCount));
  const CUdeviceptr d = device.upload(ramp(0, kCount));
  const auto faults_with = [&](const char* second) {
    int faults = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      SIM(qj_sim_set_seed)(seed);
      REQUIRE_OK(launch(device.function("step"), stream.get(), a, b, kCount));
      REQUIRE_OK(launch(device.function(second), stream.get(), a, c, kCount,
                        Serialization::kProgrammatic));
      REQUIRE_OK(launch(device.function("step_reads_early"), stream.get(), b, d, kCount,
                        Serialization::kProgrammatic));
      if (CU(cuStreamSynchronize)(stream.get()) != CUDA_SUCCESS) {
        CHECK_THAT(std::string(SIM(qj_sim_last_fault)()), ContainsSubstring("while step may"));
        ++faults;
        SIM(qj_sim_reset)();
      }
    }
    return faults;
  };
  CHECK(faults_with("step_waits") == 0);
  CHECK(faults_with("step_triggers_first") > 0);
}

TEST_CASE("PDL: a synchronization between two launches makes any order right", "[sim]") {
  const CleanSimulator clean;
  Chain chain({"step", "step_reads_early"});
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SIM(qj_sim_set_seed)(seed);
    REQUIRE_OK(launch(chain.function(0), chain.stream(), chain.buffer(0), chain.buffer(1), kCount));
    REQUIRE_OK(CU(cuStreamSynchronize)(chain.stream()));
    REQUIRE_OK(launch(chain.function(1), chain.stream(), chain.buffer(1), chain.buffer(2), kCount,
                      Serialization::kProgrammatic));
    REQUIRE_OK(CU(cuStreamSynchronize)(chain.stream()));
    CHECK(chain.result() == ramp(2, kCount));
  }
}

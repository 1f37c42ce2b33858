// SPDX-License-Identifier: Apache-2.0
// Requests inside captures, on the simulated device, whose capture rules are those of a GPU.
#include "src/driver/driver_table.hpp"
#include "src/service/loaded_kernel.hpp"
#include "tests/sim/devices_support.hpp"
#include "tests/support/capture_matrix.hpp"
#include "tests/support/catch.hpp"

#include <quantjit/error.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

using namespace quantjit;
using namespace quantjit::test;

namespace {

CaptureMachine machine_of_tests() {
  const SimMachine& machine = SimMachine::with("sm_90a");
  return {&machine.api(), machine.options()};
}

/// Sees the thread capture mode in which libraries are loaded, for a scope. One at a time.
class LoadObserver {
 public:
  explicit LoadObserver(const driver::DriverApi& api)
      : table_(const_cast<driver::DriverTable&>(api.table())) {
    const std::lock_guard lock(mutex);
    modes_seen.clear();
    load_library = std::exchange(table_.cuLibraryLoadData, &observe);
    exchange_mode = table_.cuThreadExchangeStreamCaptureMode;
  }

  LoadObserver(const LoadObserver&) = delete;
  LoadObserver& operator=(const LoadObserver&) = delete;

  ~LoadObserver() { table_.cuLibraryLoadData = load_library; }

  [[nodiscard]] static std::vector<CUstreamCaptureMode> modes() {
    const std::lock_guard lock(mutex);
    return modes_seen;
  }

  /// Of the calling thread.
  [[nodiscard]] static CUstreamCaptureMode current_mode() {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    exchange_mode(&mode);
    CUstreamCaptureMode back = mode;
    exchange_mode(&back);
    return mode;
  }

 private:
  static CUresult observe(CUlibrary* library, const void* code, CUjit_option* jit_options,
                          void** jit_values, unsigned int jit_count, CUlibraryOption* options,
                          void** values, unsigned int count) {
    {
      const std::lock_guard lock(mutex);
      modes_seen.push_back(current_mode());
    }
    return load_library(library, code, jit_options, jit_values, jit_count, options, values, count);
  }

  static inline decltype(&::cuLibraryLoadData) load_library = nullptr;
  static inline decltype(&::cuThreadExchangeStreamCaptureMode) exchange_mode = nullptr;
  static inline std::mutex mutex;  // guards modes_seen
  static inline std::vector<CUstreamCaptureMode> modes_seen;

  driver::DriverTable& table_;
};

void check(const CaptureOutcome& outcome) {
  CAPTURE(outcome.name, outcome.observed);
  std::string problems;
  for (const std::string& problem : outcome.problems) {
    problems += "\n  " + problem;
  }
  INFO("problems:" << problems);
  CHECK(outcome.problems.empty());
}

void check_cases_of(driver::CaptureMode mode) {
  const std::vector<CaptureCase> cases = capture_cases();
  std::size_t run = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].mode == mode) {
      check(run_capture_case(machine_of_tests(), cases[i], i));
      ++run;
    }
  }
  CHECK(run == 18);
}

}  // namespace

TEST_CASE("Capture: global mode, every asker, readiness and policy", "[sim][capture]") {
  check_cases_of(driver::CaptureMode::kGlobal);
}

TEST_CASE("Capture: thread-local mode, every asker, readiness and policy", "[sim][capture]") {
  check_cases_of(driver::CaptureMode::kThreadLocal);
}

TEST_CASE("Capture: relaxed mode, every asker, readiness and policy", "[sim][capture]") {
  check_cases_of(driver::CaptureMode::kRelaxed);
}

TEST_CASE("Capture: 64 layers after a prewarm compile and load nothing", "[sim][capture]") {
  check(run_layers(machine_of_tests(), 64));
}

TEST_CASE("Capture: a sealed service's miss leaves the capture valid", "[sim][capture]") {
  check(run_withheld(machine_of_tests(), 8));
}

TEST_CASE("Capture: a graph replays after everything that held its kernels is gone",
          "[sim][capture]") {
  check(run_dropped(machine_of_tests()));
}

TEST_CASE("KernelService: code that was loaded ahead and never handed out leaves the device",
          "[sim][capture]") {
  const SimMachine& machine = SimMachine::with("sm_90a");
  KernelService service = machine.service();
  const std::vector<PrewarmItem> items = {{parse_descriptor("per_token_quant:in=f16"), {}}};
  CHECK(service.prewarm(items, {.devices = {0}}).loaded == 1);
  CHECK(service.prewarm(items, {.devices = {0, 0}}).loaded == 1);
  CHECK(service.device_stats(0).loaded_kernels == 1);
  CHECK(service.evict_memory(0) == 1);
  CHECK(service.prewarm(items, {.devices = {0}}).hits == 1);
  CHECK(service.stats().compiles == 1);
  CHECK(service.device_stats(0).requests == 0);
  CHECK_THROWS_AS(service.prewarm(items, {.devices = {7}}), InvalidArgument);
}

TEST_CASE("KernelService: services of a process share what one of them handed out",
          "[sim][capture]") {
  const SimMachine& machine = SimMachine::with("sm_90a");
  KernelService one = machine.service();
  KernelService other = machine.service();
  const Kernel first = one.get("per_token_quant", 0);
  CHECK(other.get("per_token_quant", 0).state()->library == first.state()->library);
}

TEST_CASE("KernelService: get_async answers with a kernel or with what get would throw",
          "[sim][async]") {
  const SimMachine& machine = SimMachine::with("sm_90a,sm_100a");
  ServiceOptions options = machine.options();
  auto service = std::make_unique<KernelService>(options);
  std::vector<std::future<Kernel>> futures;
  for (int i = 0; i < 32; ++i) {
    futures.push_back(service->get_async(parse_descriptor("per_token_quant"), i % 2));
  }
  for (std::size_t i = 0; i < futures.size(); ++i) {
    CHECK(futures[i].get().device() == static_cast<int>(i % 2));
  }
  CHECK(service->stats().compiles == 2);
  CHECK_THROWS_AS(service->get_async(parse_descriptor("per_token_quant"), 9).get(),
                  InvalidArgument);
  service->seal();
  CHECK_THROWS_AS(service->get_async(parse_descriptor("per_token_quant:in=f32"), 0).get(),
                  SealedMiss);

  // Whatever the moment: a kernel, or the error that says that the service is gone.
  std::vector<std::future<Kernel>> late;
  for (int i = 0; i < 32; ++i) {
    late.push_back(service->get_async(parse_descriptor("per_token_quant"), 0));
  }
  service.reset();
  for (std::future<Kernel>& future : late) {
    REQUIRE(future.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
    try {
      const Kernel kernel = future.get();
      CHECK(kernel.device() == 0);
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("destroyed") != std::string::npos);
    }
  }
}

TEST_CASE("Capture: code is loaded in relaxed mode, and the thread's mode is put back",
          "[sim][capture]") {
  const SimMachine& machine = SimMachine::with("sm_90a,sm_100a");
  const LoadObserver observer(machine.api());
  KernelService service = machine.service();
  static_cast<void>(service.get("per_token_quant:in=f16,pdl=false", 0));
  service.get_async(parse_descriptor("per_token_quant:in=f32,pdl=false"), 1).get();
  static_cast<void>(service.prewarm({{parse_descriptor("per_token_quant:pdl=false"), {}}},
                                    {.jobs = 2, .devices = {0, 1}}));
  CHECK(observer.modes() == std::vector<CUstreamCaptureMode>(4, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(LoadObserver::current_mode() == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

// SPDX-License-Identifier: Apache-2.0
// Preparing several devices ahead: afterwards nothing is compiled or loaded on any of them.
#include "src/driver/device.hpp"
#include "src/driver/graph.hpp"
#include "src/driver/stream.hpp"
#include "tests/sim/devices_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device_call.hpp"

#include <quantjit/error.hpp>

using namespace quantjit;
using quantjit::test::Caller;
using quantjit::test::ContainsSubstring;
using quantjit::test::DeviceCall;
using quantjit::test::SimMachine;

namespace {

std::vector<PrewarmItem> all_items() {
  std::vector<PrewarmItem> items;
  for (const std::string& descriptor : test::device_descriptors()) {
    items.push_back({parse_descriptor(descriptor), Arch::parse("sm_90a")});
  }
  return items;
}

PrewarmOptions on(std::vector<int> devices) {
  PrewarmOptions options;
  options.devices = std::move(devices);
  return options;
}

}  // namespace

TEST_CASE("Several devices: prewarm prepares each for its own arch, and seal keeps it so",
          "[sim]") {
  const SimMachine& machine = SimMachine::with("sm_90a,sm_100a");
  const driver::DriverApi& api = machine.api();
  KernelService service = machine.service();
  const std::size_t count = test::device_descriptors().size();
  for (const int current : {-1, 1}) {  // the second round finds everything
    const Caller caller(api, current);
    const PrewarmReport report = service.prewarm(all_items(), on({0, 1}));
    CHECK(report.complete());
    CHECK(report.requested == 2 * count);
    CHECK(report.loaded == 2 * count);
    CHECK(caller.unchanged());
  }
  service.seal();
  for (int device = 0; device < 2; ++device) {
    CHECK(service.device_stats(device).loads == count);
    CHECK(service.device_stats(device).loaded_kernels == count);
  }

  const Caller caller(api, 0);
  for (int device = 0; device < 2; ++device) {
    for (const std::string& descriptor : test::device_descriptors()) {
      CAPTURE(device, descriptor);
      const DeviceCall call(api, device, test::small_problem(descriptor, 6));
      const driver::StreamOwner stream(api, device);
      driver::GraphCapture capture(api, stream.get());
      call.launch(service, stream.get());  // would be a CaptureMiss if it were not loaded
      const auto graph = capture.end();
      graph.launch(stream.get());
      stream.synchronize();
      CHECK(call.difference().empty());
    }
  }
  CHECK(service.stats().compiles == 2 * count);
  CHECK(service.stats().loads == 2 * count);
  CHECK_THROWS_AS(service.get("per_token_quant:in=f16", 0), SealedMiss);
  CHECK_THROWS_WITH(service.get("per_token_quant:in=f16", 1), ContainsSubstring("sm_100a"));
  CHECK(caller.unchanged());

  CHECK(service.evict_memory(1) == count);  // comes back from host memory
  CHECK(service.get(test::device_descriptors()[0], 1).device() == 1);
  CHECK(service.device_stats(0).loads == count);
}

TEST_CASE(
    "Several devices: what is prewarmed for one is a miss on another arch and shared on the "
    "same",
    "[sim]") {
  const SimMachine& machine = SimMachine::with("sm_90a,sm_100a,sm_90a");
  KernelService service = machine.service();
  const PrewarmReport report = service.prewarm(all_items(), on({2}));
  CHECK(report.complete());
  CHECK(report.compiled == test::device_descriptors().size());
  service.seal();
  CHECK(service.get("per_token_quant", 2).device() == 2);
  CHECK(service.get("per_token_quant", 0).device() == 0);
  CHECK_THROWS_AS(service.get("per_token_quant", 1), SealedMiss);
  CHECK(service.device_stats(1).load_failures == 1);
  CHECK_THROWS_AS(service.prewarm(all_items(), on({0, 3})), InvalidArgument);
}

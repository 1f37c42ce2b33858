// SPDX-License-Identifier: Apache-2.0
// One service for devices of several archs: each gets its own code, in whatever order they stand.
#include "src/driver/device.hpp"
#include "src/driver/stream.hpp"
#include "src/service/loaded_kernel.hpp"
#include "tests/sim/devices_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device_call.hpp"

#include <quantjit/error.hpp>

#include <set>

using namespace quantjit;
using quantjit::test::ContainsSubstring;
using quantjit::test::DeviceCall;
using quantjit::test::SimMachine;

namespace {

/// Launches on a stream of the device and compares with the reference for that device.
std::string run_on(const SimMachine& machine, KernelService& service, int device,
                   const std::string& descriptor) {
  const DeviceCall call(machine.api(), device, test::small_problem(descriptor, 11));
  const driver::StreamOwner stream(machine.api(), device);
  call.launch(service, stream.get());
  stream.synchronize();
  return call.difference();
}

void check_mixed(const SimMachine& machine, const std::vector<std::string>& archs) {
  KernelService service = machine.service();
  std::set<std::string> keys;
  for (int device = 0; device < static_cast<int>(archs.size()); ++device) {
    const std::string& arch = archs[static_cast<std::size_t>(device)];
    CAPTURE(device, arch);
    for (const std::string& descriptor : test::device_descriptors()) {
      CAPTURE(descriptor);
      const Kernel kernel = service.get(descriptor, device);
      CHECK(kernel.device() == device);
      CHECK(kernel.info().arch.to_string() == arch);
      CHECK(kernel.info().math == (arch == "sm_90a" ? MathMode::kFast : MathMode::kPrecise));
      CHECK(kernel.state()->device->arch.to_string() == arch);
      keys.insert(kernel.info().key);
      CHECK(run_on(machine, service, device, descriptor).empty());
    }
  }
  const std::size_t distinct = std::set(archs.begin(), archs.end()).size();
  CHECK(keys.size() == distinct * test::device_descriptors().size());
  CHECK(service.stats().compiles == keys.size());
  CHECK(service.stats().loads == archs.size() * test::device_descriptors().size());
}

}  // namespace

TEST_CASE("Several devices: each runs the code of its own arch, in both orders", "[sim]") {
  check_mixed(SimMachine::with("sm_90a,sm_100a"), {"sm_90a", "sm_100a"});
  check_mixed(SimMachine::with("sm_100a,sm_90a"), {"sm_100a", "sm_90a"});
}

TEST_CASE("Several devices: those that are hidden or reordered are taken as they are visible",
          "[sim]") {
  const std::string devices = "sm_90a,sm_100a,sm_120a";
  check_mixed(SimMachine::with(devices, "2,0"), {"sm_120a", "sm_90a"});
  const SimMachine& one = SimMachine::with(devices, "GPU-716a2d73-696d-0000-6400");
  check_mixed(one, {"sm_100a"});
  KernelService service = one.service();
  CHECK_THROWS_AS(service.get("per_token_quant", 1), InvalidArgument);
  CHECK_THROWS_WITH(service.get("per_token_quant", 1), ContainsSubstring("1 devices"));
  CHECK(service.device_stats(1).load_failures == 0);
  CHECK_THROWS_AS(service.get("per_token_quant", -7), InvalidArgument);
  CHECK_THROWS_AS(service.get("per_token_quant", 100000), InvalidArgument);
}

TEST_CASE("Several devices: of one arch they share image and library, and no more than those",
          "[sim]") {
  const SimMachine& machine = SimMachine::with("sm_90a,sm_100a,sm_90a");
  KernelService service = machine.service();
  const std::string& descriptor = test::device_descriptors()[1];
  const Kernel first = service.get(descriptor, 0);
  const Kernel other = service.get(descriptor, 1);
  const Kernel third = service.get(descriptor, 2);
  CHECK(service.stats().compiles == 2);
  CHECK(first.state()->image == third.state()->image);
  CHECK(first.state()->library == third.state()->library);
  CHECK(first.state()->library != other.state()->library);
  CHECK(first.state()->primary_context != third.state()->primary_context);
  CHECK(third.device() == 2);
  for (int device = 0; device < 3; ++device) {
    CAPTURE(device);
    CHECK(run_on(machine, service, device, descriptor).empty());
    const DeviceStats stats = service.device_stats(device);
    CHECK(stats.requests == 2);
    CHECK(stats.memory_hits == 1);
    CHECK(stats.loads == 1);
    CHECK(stats.loaded_kernels == 1);
  }
  CHECK(service.stats().requests == 6);
  CHECK(service.stats().memory_hits == 3);
  CHECK(service.stats().loads == 3);
}

TEST_CASE("Several devices: a math mode that the descriptor names holds on every arch", "[sim]") {
  const SimMachine& machine = SimMachine::with("sm_90a,sm_100a");
  KernelService service = machine.service();
  for (int device = 0; device < 2; ++device) {
    CHECK(service.get("per_token_quant:math=precise", device).info().math == MathMode::kPrecise);
    CHECK(service.get("per_token_quant:math=fast", device).info().math == MathMode::kFast);
  }
  CHECK(service.stats().compiles == 4);
}

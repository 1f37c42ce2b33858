// SPDX-License-Identifier: Apache-2.0
// Launch geometry: a tuned table lies beside the cubins, holds for its GPU model, and changes no
// bit.
#include "src/driver/stream.hpp"
#include "src/service/loaded_kernel.hpp"
#include "tests/sim/devices_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device_call.hpp"
#include "tests/support/launch_recorder.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/cache.hpp>
#include <quantjit/error.hpp>

#include <cstdint>
#include <functional>
#include <utility>

using namespace quantjit;
using quantjit::test::ContainsSubstring;
using quantjit::test::DeviceCall;
using quantjit::test::SimMachine;

namespace {

constexpr const char* kDescriptor = "per_token_group_quant:scale=ue8m0,layout=col";

ServiceOptions on_disk(const SimMachine& machine, const test::TemporaryDirectory& root) {
  ServiceOptions options = machine.options();
  options.cache_roots = std::vector<std::string>{root.path().string()};
  return options;
}

/// Runs a small problem and compares with the reference.
std::string run(const SimMachine& machine, const Kernel& kernel) {
  const DeviceCall call(machine.api(), 0, test::small_problem(kDescriptor, 5));
  const driver::StreamOwner stream(machine.api(), 0);
  call.launch(kernel, stream.get());
  stream.synchronize();
  return call.difference();
}

std::vector<GeometryRule> one_rule(std::uint32_t threads, bool prefetch) {
  return {{GeometryKernel::kFlat, kNoSizeLimit, threads, 0, 16, 0, prefetch}};
}

/// While it lives, the first time that a driver is asked for an entry point begins with `act`.
class EntryPointWatch {
 public:
  EntryPointWatch(const driver::DriverApi& api, std::function<void()> act)
      : place_(test::table_of(api).cuLibraryGetKernel) {
    acts = std::move(act);
    original = std::exchange(place_, &EntryPointWatch::act_once);
  }

  EntryPointWatch(const EntryPointWatch&) = delete;
  EntryPointWatch& operator=(const EntryPointWatch&) = delete;

  ~EntryPointWatch() { place_ = original; }

 private:
  static CUresult act_once(CUkernel* kernel, CUlibrary library, const char* name) {
    if (const auto act = std::exchange(acts, nullptr)) {
      act();
    }
    return original(kernel, library, name);
  }

  static inline std::function<void()> acts;
  static inline decltype(&::cuLibraryGetKernel) original = nullptr;
  decltype(&::cuLibraryGetKernel)& place_;
};

}  // namespace

TEST_CASE("Geometry: a tuned table is found by the next service, for its GPU model alone",
          "[sim]") {
  const SimMachine& machine = SimMachine::with("sm_90a,sm_100a");
  const test::TemporaryDirectory root;
  KernelService tuner(on_disk(machine, root));
  CHECK(tuner.geometry(0).source == "built in");
  CHECK(tuner.get(kDescriptor, 0).state()->geometry.size() > 1);
  const std::string path = tuner.store_geometry(0, one_rule(64, false));
  REQUIRE(!path.empty());
  CHECK(tuner.geometry(0).rules == one_rule(64, false));
  CHECK(tuner.get(kDescriptor, 0).state()->geometry == one_rule(64, false));

  KernelService next(on_disk(machine, root));
  CHECK_THAT(next.geometry(0).source, ContainsSubstring("tuned for"));
  CHECK(next.geometry(1).source == "built in");
  const Kernel kernel = next.get(kDescriptor, 0);
  CHECK(next.stats().compiles == 0);
  CHECK(kernel.state()->geometry == one_rule(64, false));
  CHECK(run(machine, kernel).empty());
  // Kernels that the table does not name keep the table that ships.
  CHECK(next.get("per_token_quant", 0).state()->geometry.size() > 1);

  CacheAdmin admin(on_disk(machine, root));
  CHECK(admin.verify().bad.empty());
}

TEST_CASE("Geometry: a kernel that was being loaded while a table is stored is not kept", "[sim]") {
  const SimMachine& machine = SimMachine::with("sm_90a");
  const test::TemporaryDirectory root;
  KernelService service(on_disk(machine, root));
  // The geometry is known by the time the driver is asked for an entry point.
  const Kernel before = [&] {
    const EntryPointWatch watch(machine.api(),
                                [&service] { service.store_geometry(0, one_rule(64, false)); });
    return service.get(kDescriptor, 0);
  }();
  CHECK(before.state()->geometry.size() > 1);
  CHECK(service.device_stats(0).loaded_kernels == 0);
  const Kernel after = service.get(kDescriptor, 0);
  CHECK(after.state()->geometry == one_rule(64, false));
  CHECK(service.device_stats(0).loads == 2);
  CHECK(service.device_stats(0).loaded_kernels == 1);
  CHECK(run(machine, before).empty());
  CHECK(run(machine, after).empty());
}

TEST_CASE("Geometry: options come before a tuned table, and no table changes a bit", "[sim]") {
  const SimMachine& machine = SimMachine::with("sm_90a");
  const test::TemporaryDirectory root;
  KernelService(on_disk(machine, root)).store_geometry(0, one_rule(64, false));
  for (const std::uint32_t threads : {32U, 64U, 128U, 256U, 512U}) {
    for (const bool prefetch : {false, true}) {
      CAPTURE(threads, prefetch);
      ServiceOptions options = on_disk(machine, root);
      options.geometry = one_rule(threads, prefetch);
      KernelService service(std::move(options));
      CHECK(service.geometry(0).source == "options");
      CHECK(run(machine, service.get(kDescriptor, 0)).empty());
    }
  }
}

TEST_CASE("Geometry: a table that is not valid is refused before anything is kept", "[sim]") {
  const SimMachine& machine = SimMachine::with("sm_90a");
  const test::TemporaryDirectory root;
  KernelService service(on_disk(machine, root));
  CHECK_THROWS_AS(service.store_geometry(0, one_rule(48, false)), InvalidArgument);
  CHECK(service.geometry(0).source == "built in");
  ServiceOptions options = machine.options();
  options.geometry = one_rule(4096, false);
  CHECK_THROWS_AS(KernelService(std::move(options)), InvalidArgument);
  KernelService memory_only(machine.options());
  CHECK(memory_only.store_geometry(0, one_rule(64, false)).empty());
}

// SPDX-License-Identifier: Apache-2.0
// What happens to one device must not reach the other: failures, eviction.
#include "src/driver/device.hpp"
#include "src/driver/driver_table.hpp"
#include "src/driver/stream.hpp"
#include "src/service/loaded_kernel.hpp"
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

decltype(&::cuKernelGetFunction) get_function = nullptr;

/// Fails in contexts of device 0.
CUresult get_function_but_on_0(CUfunction* function, CUkernel kernel) {
  const auto device = driver::current_device(SimMachine::with("sm_90a,sm_100a").api());
  return device == 0 ? CUDA_ERROR_OUT_OF_MEMORY : get_function(function, kernel);
}

/// Lets device 0 refuse code, for a scope.
class BrokenDevice0 {
 public:
  explicit BrokenDevice0(const driver::DriverApi& api)
      : table_(const_cast<driver::DriverTable&>(api.table())) {
    get_function = std::exchange(table_.cuKernelGetFunction, &get_function_but_on_0);
  }

  BrokenDevice0(const BrokenDevice0&) = delete;
  BrokenDevice0& operator=(const BrokenDevice0&) = delete;

  ~BrokenDevice0() { table_.cuKernelGetFunction = get_function; }

 private:
  driver::DriverTable& table_;
};

}  // namespace

TEST_CASE("Several devices: a device that takes no code leaves the other working", "[sim]") {
  const SimMachine& machine = SimMachine::with("sm_90a,sm_100a");
  const driver::DriverApi& api = machine.api();
  KernelService service = machine.service();
  const Caller caller(api, 1);
  {
    const BrokenDevice0 broken(api);
    CHECK_THROWS_AS(service.get("per_token_quant", 0), DriverError);
    CHECK(caller.unchanged());
    CHECK_NOTHROW(service.get("per_token_quant", 1));
    CHECK_THROWS_WITH(service.get("per_token_quant", 0), ContainsSubstring("OUT_OF_MEMORY"));
  }
  CHECK(service.device_stats(0).load_failures == 2);
  CHECK(service.device_stats(0).loads == 0);
  CHECK(service.device_stats(1).load_failures == 0);
  CHECK(service.device_stats(1).loads == 1);
  CHECK(service.get("per_token_quant", 0).device() == 0);  // a failure is not remembered
  CHECK(service.stats().compiles == 2);
}

TEST_CASE("Several devices: a fault that breaks one context leaves the other device working",
          "[sim]") {
  const SimMachine& machine = SimMachine::with("sm_90a,sm_100a");
  const driver::DriverApi& api = machine.api();
  KernelService service = machine.service();
  const std::string& descriptor = test::device_descriptors()[0];
  {
    const DeviceCall good(api, 1, test::small_problem(descriptor, 4));
    const driver::StreamOwner stream_0(api, 0);
    const driver::StreamOwner stream_1(api, 1);
    {
      GroupQuantArgs args;
      {
        const DeviceCall freed(api, 0, test::small_problem(descriptor, 4));
        args = freed.group_args();
      }
      per_token_group_quant(service, parse_descriptor(descriptor), args, stream_0.get());
    }
    CHECK_THROWS_AS(stream_0.synchronize(), DriverError);
    CHECK_THROWS_AS(service.get("per_token_quant", 0), DriverError);

    // Even with the broken context current, and with none.
    for (const int current : {0, 1, -1}) {
      CAPTURE(current);
      const Caller caller(api, current);
      good.poison();
      good.launch(service, stream_1.get());
      good.launch(service.get(test::device_descriptors()[0], 1), stream_1.get());
      CHECK(service.get("per_token_quant", 1, stream_1.get()).device() == 1);
      CHECK(caller.unchanged());
      const driver::ContextGuard context(api, 1);
      stream_1.synchronize();
      CHECK(good.difference().empty());
    }
    machine.reset();
  }
  CHECK(service.get("per_token_quant", 0).device() == 0);
}

TEST_CASE("KernelService: eviction drops the kernels of one device; those in use stay", "[sim]") {
  const SimMachine& machine = SimMachine::with("sm_90a,sm_90a");
  const driver::DriverApi& api = machine.api();
  KernelService service = machine.service();
  const std::string& descriptor = test::device_descriptors()[1];
  std::weak_ptr<const driver::Library> library;
  {
    const Kernel in_use = service.get(descriptor, 0);
    library = in_use.state()->library;
    (void)service.get("per_token_quant", 0);
    (void)service.get(descriptor, 1);
    CHECK(service.evict_memory(0) == 2);
    CHECK(service.evict_memory(0) == 0);
    CHECK(service.device_stats(0).loaded_kernels == 0);
    CHECK(service.device_stats(0).evictions == 2);
    CHECK(service.device_stats(1).loaded_kernels == 1);
    CHECK(service.device_stats(1).evictions == 0);

    const DeviceCall call(api, 0, test::small_problem(descriptor, 8));
    const driver::StreamOwner stream(api, 0);
    call.launch(in_use, stream.get());
    stream.synchronize();
    CHECK(call.difference().empty());

    call.poison();
    call.launch(service, stream.get());  // loaded again, from memory
    stream.synchronize();
    CHECK(call.difference().empty());
    CHECK(service.stats().compiles == 2);
    CHECK(service.device_stats(0).loads == 3);
    CHECK(service.get(descriptor, 0).state()->library == in_use.state()->library);
    CHECK(service.evict_memory(0) == 1);
  }
  CHECK(service.evict_memory(1) == 1);
  CHECK_FALSE(library.expired());  // it was handed out: a graph may hold it
  CHECK(service.evict_memory(7) == 0);
  CHECK_THROWS_AS(service.evict_memory(kCurrentDevice), InvalidArgument);
  CHECK(service.get(descriptor, 1).device() == 1);
  CHECK(service.stats().compiles == 2);
}

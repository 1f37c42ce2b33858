// SPDX-License-Identifier: Apache-2.0
// Whose device counts: that of the stream or the tensors, never the one that happens to be current.
#include "src/driver/device.hpp"
#include "src/driver/driver_table.hpp"
#include "src/driver/graph.hpp"
#include "src/driver/stream.hpp"
#include "tests/sim/devices_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device_call.hpp"
#include "tests/support/launch_recorder.hpp"

#include <quantjit/error.hpp>

using namespace quantjit;
using quantjit::test::Caller;
using quantjit::test::ContainsSubstring;
using quantjit::test::DeviceCall;
using quantjit::test::SimMachine;

namespace {

const SimMachine& machine() {
  return SimMachine::with("sm_90a,sm_100a");
}

const driver::DriverApi& api() {
  return machine().api();
}

constexpr int kNoContext = -1;

/// Runs `call`, which must throw an InvalidArgument, and hands the error over.
template <typename Call>
InvalidArgument refusal_of(Call&& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error;
  }
  FAIL("it was taken");
  throw std::logic_error("not reached");
}

}  // namespace

TEST_CASE("Several devices: the current device may change between request and launch", "[sim]") {
  KernelService service = machine().service();
  for (const int requested_with : {kNoContext, 0, 1}) {
    for (const int launched_with : {kNoContext, 0, 1}) {
      for (const int device : {0, 1}) {
        CAPTURE(requested_with, launched_with, device);
        Kernel kernel;
        {
          const Caller caller(api(), requested_with);
          kernel = service.get(test::device_descriptors()[1], device);
          CHECK(caller.unchanged());
        }
        const DeviceCall call(api(), device, test::small_problem(test::device_descriptors()[1], 5));
        const driver::StreamOwner stream(api(), device);
        const Caller caller(api(), launched_with);
        call.launch(kernel, stream.get());
        CHECK(caller.unchanged());
        stream.synchronize();
        CHECK(caller.unchanged());
        CHECK(call.difference().empty());
      }
    }
  }
}

TEST_CASE("Several devices: a default stream is one of the tensors' device", "[sim]") {
  KernelService service = machine().service();
  int launches = 0;
  int on_device = -1;
  const test::LaunchRecorder recorder(api(), [&](const test::SeenLaunch& seen) {
    ++launches;
    on_device = seen.current_device;
  });
  for (const std::uintptr_t handle : {0, 1, 2}) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): these handles are numbers
    const auto stream = reinterpret_cast<Stream>(handle);
    for (const int current : {kNoContext, 0, 1}) {
      for (const int device : {0, 1}) {
        CAPTURE(handle, current, device);
        const DeviceCall call(api(), device, test::small_problem("per_token_quant", handle));
        launches = 0;
        {
          const Caller caller(api(), current);
          call.launch(service, stream);
          CHECK(caller.unchanged());
        }
        CHECK(launches == 1);
        CHECK(on_device == device);
        {
          const driver::ContextGuard context(api(), device);
          driver::synchronize(api(), stream);
        }
        CHECK(call.difference().empty());
      }
    }
  }
}

TEST_CASE("Several devices: a request that names no device takes the stream's", "[sim]") {
  KernelService service = machine().service();
  const driver::StreamOwner stream(api(), 1);
  for (const int current : {kNoContext, 0, 1}) {
    CAPTURE(current);
    const Caller caller(api(), current);
    CHECK(service.get("per_token_quant", kCurrentDevice, stream.get()).device() == 1);
    CHECK(service.get("per_token_quant").device() == (current == 1 ? 1 : 0));
    CHECK(caller.unchanged());
  }
}

TEST_CASE(
    "Several devices: a mismatch names tensors, kernel, stream and context, and launches "
    "nothing",
    "[sim]") {
  KernelService service = machine().service();
  const Kernel kernel = service.get(test::device_descriptors()[0], 1);
  const DeviceCall call(api(), 1, test::small_problem(test::device_descriptors()[0], 3));
  const DeviceCall elsewhere(api(), 0, test::small_problem(test::device_descriptors()[0], 3));
  const driver::StreamOwner stream(api(), 1);
  const driver::StreamOwner wrong(api(), 0);
  int launches = 0;
  const test::LaunchRecorder recorder(api(), [&](const test::SeenLaunch&) { ++launches; });

  for (const int current : {kNoContext, 0, 1}) {
    CAPTURE(current);
    const Caller caller(api(), current);
    const std::string context = current == kNoContext
                                    ? "no context is current"
                                    : "current context is of device " + std::to_string(current);

    const auto by_stream = refusal_of([&] { call.launch(kernel, wrong.get()); });
    CHECK(by_stream.parameter() == "stream");
    CHECK_THAT(by_stream.what(), ContainsSubstring("of device 0") &&
                                     ContainsSubstring("kernel and the tensors are on device 1") &&
                                     ContainsSubstring(context));
    CHECK(caller.unchanged());

    GroupQuantArgs args = call.group_args();
    args.output_s = elsewhere.group_args().output_s;
    const auto by_tensor = refusal_of([&] { per_token_group_quant(kernel, args, stream.get()); });
    CHECK(by_tensor.parameter() == "output_s.device");
    CHECK(by_tensor.value() == "0");
    CHECK_THAT(by_tensor.what(), ContainsSubstring("kernel is loaded on device 1") &&
                                     ContainsSubstring("stream is of device 1") &&
                                     ContainsSubstring(context));
    const auto by_default = refusal_of([&] { per_token_group_quant(kernel, args, nullptr); });
    CHECK_THAT(by_default.what(), ContainsSubstring("a default stream"));

    const auto all = refusal_of([&] { elsewhere.launch(kernel, wrong.get()); });
    CHECK(all.parameter() == "input.device");
    CHECK_THAT(all.what(), ContainsSubstring("stream is of device 0"));

    const auto allocating = refusal_of([&] {
      (void)per_token_group_quant(service, call.descriptor(), call.input(), wrong.get());
    });
    CHECK(allocating.parameter() == "stream");
    CHECK(caller.unchanged());
  }
  const auto cold = refusal_of([&] { (void)service.get("per_token_quant", 1, wrong.get()); });
  CHECK(cold.parameter() == "stream");
  CHECK_THAT(cold.what(), ContainsSubstring("kernel is asked for on device 1"));

  CHECK(launches == 0);
  stream.synchronize();
  wrong.synchronize();
  CHECK(call.is_poisoned());
  CHECK(elsewhere.is_poisoned());
  CHECK(service.stats().compiles == 1);  // what was refused cost no compile
}

TEST_CASE("Several devices: outputs are allocated on the device of the input", "[sim]") {
  KernelService service = machine().service();
  for (const int device : {0, 1}) {
    const DeviceCall call(api(), device, test::small_problem(test::device_descriptors()[1], 9));
    const driver::StreamOwner stream(api(), device);
    const Caller caller(api(), 1 - device);
    {
      const QuantizedTensors out =
          per_token_group_quant(service, call.descriptor(), call.input(), stream.get());
      CHECK(out.q.view().device == device);
      CHECK(driver::device_of_pointer(api(), out.q.view().data) == device);
      CHECK(driver::device_of_pointer(api(), out.s.view().data) == device);
      CHECK(caller.unchanged());
    }
    CHECK(caller.unchanged());
    stream.synchronize();
  }
}

TEST_CASE("Several devices: a context of the caller's own is used and stays", "[sim]") {
  KernelService service = machine().service();
  CUcontext own = nullptr;
  const auto create = reinterpret_cast<CUresult (*)(CUcontext*, unsigned, CUdevice)>(
      base::DynamicLibrary::open(api().path()).symbol("cuCtxCreate_v2"));
  const auto destroy = reinterpret_cast<CUresult (*)(CUcontext)>(
      base::DynamicLibrary::open(api().path()).symbol("cuCtxDestroy_v2"));
  const Kernel kernel = service.get("per_token_quant", 1);
  REQUIRE(create(&own, 0, 1) == CUDA_SUCCESS);
  {
    // Made while the context is current, so that its streams and memory are there.
    const DeviceCall call(api(), 1, test::small_problem("per_token_quant", 21));
    const driver::StreamOwner stream(api(), 1);
    CHECK(driver::context_of_stream(api(), stream.get()) == own);
    call.launch(kernel, stream.get());
    call.launch(service, nullptr);
    CHECK(driver::current_context(api()) == own);
    stream.synchronize();
    driver::synchronize(api(), nullptr);
    CHECK(call.difference().empty());

    const Caller caller(api(), 0);
    call.poison();
    call.launch(kernel, stream.get());
    CHECK(caller.unchanged());
    stream.synchronize();
    CHECK(call.difference().empty());
  }
  CHECK(driver::current_context(api()) == own);
  CHECK(destroy(own) == CUDA_SUCCESS);
}

TEST_CASE("Several devices: one thread alternates between them, and captures a graph on each",
          "[sim]") {
  KernelService service = machine().service();
  const std::string& descriptor = test::device_descriptors()[1];
  const DeviceCall first(api(), 0, test::small_problem(descriptor, 1));
  const DeviceCall second(api(), 1, test::small_problem(descriptor, 2));
  const driver::StreamOwner stream_0(api(), 0);
  const driver::StreamOwner stream_1(api(), 1);
  const Caller caller(api(), 0);
  for (int round = 0; round < 3; ++round) {
    first.launch(service, stream_0.get());
    second.launch(service, stream_1.get());
  }
  stream_0.synchronize();
  stream_1.synchronize();
  CHECK(first.difference().empty());
  CHECK(second.difference().empty());
  first.poison();
  second.poison();

  const auto captured = [&](const DeviceCall& call, const driver::StreamOwner& stream) {
    driver::GraphCapture capture(api(), stream.get());
    call.launch(service, stream.get());
    CHECK_THROWS_AS(service.get("per_token_quant", call.ordinal(), stream.get()), CaptureMiss);
    CHECK(caller.unchanged());
    return capture.end();
  };
  const auto graph_0 = captured(first, stream_0);
  const auto graph_1 = captured(second, stream_1);
  CHECK(first.is_poisoned());
  CHECK(second.is_poisoned());
  graph_0.launch(stream_0.get());
  graph_1.launch(stream_1.get());
  stream_0.synchronize();
  stream_1.synchronize();
  CHECK(first.difference().empty());
  CHECK(second.difference().empty());
  CHECK(caller.unchanged());
}

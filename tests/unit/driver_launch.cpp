// SPDX-License-Identifier: Apache-2.0
#include "src/driver/device.hpp"
#include "src/driver/graph.hpp"
#include "src/driver/launch.hpp"
#include "src/driver/stream.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver_library.hpp"

#include <thread>
#include <vector>

using namespace quantjit;
using driver::KernelHandle;
using driver::LaunchConfig;
using driver::ProgrammaticLaunch;
using quantjit::test::ContainsSubstring;
using quantjit::test::driver_error_of;
using quantjit::test::FakeDriver;

namespace {

int kernel_object = 0;
int stream_object = 0;

KernelHandle some_kernel() {
  return KernelHandle(reinterpret_cast<CUkern_st*>(&kernel_object));
}

CUstream_st* some_stream() {
  return reinterpret_cast<CUstream_st*>(&stream_object);
}

}  // namespace

TEST_CASE("launch: hands geometry, stream, shared memory and parameters to the driver unchanged",
          "[driver]") {
  const FakeDriver fake;
  const LaunchConfig config{{7, 5, 3}, {64, 4, 2}, 12345, some_stream(), ProgrammaticLaunch::kOff};
  const int parameter = 4711;
  driver::launch_with(fake.api(), some_kernel(), config, parameter);

  const auto& launches = fake.record().launches;
  REQUIRE(launches.size() == 1);
  const CUlaunchConfig& seen = launches[0].config;
  CHECK(seen.gridDimX == 7);
  CHECK(seen.gridDimY == 5);
  CHECK(seen.gridDimZ == 3);
  CHECK(seen.blockDimX == 64);
  CHECK(seen.blockDimY == 4);
  CHECK(seen.blockDimZ == 2);
  CHECK(seen.sharedMemBytes == 12345);
  CHECK(seen.hStream == some_stream());
  CHECK(launches[0].function == reinterpret_cast<CUfunction>(some_kernel().get()));
  CHECK(launches[0].parameter == 4711);
  CHECK(launches[0].attributes.empty());
}

TEST_CASE("launch: a programmatic launch carries exactly that attribute", "[driver]") {
  const FakeDriver fake;
  LaunchConfig config;
  config.programmatic = ProgrammaticLaunch::kOn;
  const int parameter = 0;
  driver::launch_with(fake.api(), some_kernel(), config, parameter);

  const auto& launches = fake.record().launches;
  REQUIRE(launches.size() == 1);
  REQUIRE(launches[0].attributes.size() == 1);
  const CUlaunchAttribute& attribute = launches[0].attributes[0];
  CHECK(attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  CHECK(attribute.value.programmaticStreamSerializationAllowed == 1);
}

TEST_CASE("launch: is one driver call", "[driver]") {
  const FakeDriver fake;
  const driver::DriverApi& api = fake.api();
  const auto total_calls = [&fake] {
    int total = 0;
    for (const auto& [name, count] : fake.record().calls) {
      total += count;
    }
    return total;
  };
  const int before = total_calls();
  const int parameter = 0;
  driver::launch_with(api, some_kernel(), {}, parameter);
  CHECK(total_calls() == before + 1);
  CHECK(fake.calls("cuLaunchKernelEx") == 1);
}

TEST_CASE("launch: threads that launch at once never see each other's settings", "[driver]") {
  const FakeDriver fake;
  const driver::DriverApi& api = fake.api();
  constexpr int kThreads = 8;
  constexpr int kLaunches = 200;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&api, thread] {
      for (int round = 0; round < kLaunches; ++round) {
        const int id = thread * kLaunches + round + 1;
        LaunchConfig config;
        config.grid.x = static_cast<std::uint32_t>(id);
        config.programmatic = id % 2 == 0 ? ProgrammaticLaunch::kOn : ProgrammaticLaunch::kOff;
        driver::launch_with(api, some_kernel(), config, id);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  const auto& launches = fake.record().launches;
  REQUIRE(launches.size() == kThreads * kLaunches);
  int wrong = 0;
  for (const auto& launch : launches) {
    const auto expected_attributes = static_cast<std::size_t>(launch.parameter % 2 == 0);
    wrong += launch.config.gridDimX != static_cast<unsigned>(launch.parameter) ||
             launch.attributes.size() != expected_attributes;
  }
  CHECK(wrong == 0);
}

TEST_CASE(
    "launch: a thread without a context launches in the stream's, also where the driver wants one",
    "[driver]") {
  const FakeDriver fake;
  const driver::DriverApi& api = fake.api();
  const driver::StreamOwner stream(api, 0);
  { const driver::ContextGuard other_device(api, 1); }  // both devices' contexts are known now
  LaunchConfig config;
  config.stream = stream.get();
  const int parameter = 0;
  driver::launch_with(api, some_kernel(), config, parameter);
  CHECK(fake.record().launches.back().current_device == -1);  // nothing was in the way

  fake.record().context_bound = {"cuLaunchKernelEx",    "cuStreamGetCtx",
                                 "cuStreamIsCapturing", "cuStreamBeginCapture",
                                 "cuEventRecord",       "cuStreamSynchronize",
                                 "cuGraphLaunch",       "cuGraphInstantiateWithFlags"};
  driver::launch_with(api, some_kernel(), config, parameter);
  REQUIRE(fake.record().launches.size() == 2);
  CHECK(fake.record().launches.back().current_device == 0);
  CHECK_NOTHROW(driver::Event(api, 0).record(stream.get()));
  CHECK_NOTHROW(stream.synchronize());
  driver::GraphCapture capture(api, stream.get());
  CHECK(driver::capture_state(api, stream.get()) == driver::CaptureState::kActive);
  CHECK_NOTHROW(capture.end().launch(stream.get()));
  CHECK(driver::device_of_stream(api, stream.get()) == 0);
  CHECK_FALSE(driver::current_device(api));

  config.stream = nullptr;  // the null stream has no context of its own
  const auto error =
      driver_error_of([&] { driver::launch_with(api, some_kernel(), config, parameter); });
  CHECK(error.name() == "CUDA_ERROR_INVALID_CONTEXT");
}

TEST_CASE("capture_state: asks in the stream's context on a thread without one, without a failure",
          "[driver]") {
  const FakeDriver fake;
  const driver::DriverApi& api = fake.api();
  const driver::StreamOwner stream(api, 1);
  fake.record().context_bound = {"cuStreamGetCtx", "cuStreamIsCapturing"};
  CHECK(driver::capture_state(api, stream.get()) == driver::CaptureState::kNone);
  CHECK(fake.calls("cuStreamGetCtx") == 1);
  CHECK(fake.calls("cuStreamIsCapturing") == 1);
  CHECK_FALSE(driver::current_device(api));
}

TEST_CASE("launch: a failure tells the geometry", "[driver]") {
  const FakeDriver fake;
  fake.force("cuLaunchKernelEx", 701);
  const LaunchConfig config{{7, 5, 3}, {64, 4, 2}, 12345, nullptr, ProgrammaticLaunch::kOff};
  const int parameter = 0;
  const auto error =
      driver_error_of([&] { driver::launch_with(fake.api(), some_kernel(), config, parameter); });
  CHECK(error.api() == "cuLaunchKernelEx");
  CHECK(error.name() == "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
  CHECK_THAT(error.what(), ContainsSubstring("grid 7x5x3"));
  CHECK_THAT(error.what(), ContainsSubstring("block 64x4x2"));
  CHECK_THAT(error.what(), ContainsSubstring("12345 bytes"));
}

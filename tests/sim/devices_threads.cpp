// SPDX-License-Identifier: Apache-2.0
// Many threads on several devices through one service.
#include "src/driver/device.hpp"
#include "src/driver/stream.hpp"
#include "src/service/loaded_kernel.hpp"
#include "tests/sim/devices_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device_call.hpp"
#include "tests/support/launch_recorder.hpp"

#include <algorithm>
#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

using namespace quantjit;
using quantjit::test::DeviceCall;
using quantjit::test::SimMachine;

namespace {

constexpr int kThreads = 32;
constexpr int kDevices = 2;
constexpr int kLaunches = 10000;

/// Runs `body(thread)` on all threads at once.
template <typename Body>
void on_all_threads(Body&& body) {
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      body(thread);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

/// What a thread is about to launch.
struct Expectation {
  const Kernel* kernel = nullptr;
  const DeviceCall* call = nullptr;
  Stream stream = nullptr;
};

thread_local Expectation expected;

/// "" if the launch is the one that this thread asked for.
std::string what_is_wrong(const test::SeenLaunch& seen) {
  const detail::LoadedKernel& kernel = *expected.kernel->state();
  const auto& entries = kernel.entries;
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& e) { return e && e.get() == seen.kernel; });
  if (entry == entries.end()) {
    return "the kernel is another one";
  }
  const bool pdl = std::visit([](const auto& traits) { return traits.pdl; }, kernel.traits);
  if (seen.attributes.size() != (pdl ? 1U : 0U) ||
      (pdl && (seen.attributes[0].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
               seen.attributes[0].value.programmaticStreamSerializationAllowed != 1))) {
    return "the attributes are another launch's";
  }
  if (seen.config.hStream != expected.stream) {
    return "the stream is another one";
  }
  if (seen.input != expected.call->input().data) {
    return "the parameters are another call's";
  }
  const int device = expected.call->ordinal();
  return seen.stream_device == device && seen.current_device == device &&
                 kernel.device->ordinal == device
             ? ""
             : "the device is another one";
}

/// One thread's operands and streams for every descriptor on every device.
struct Worker {
  Worker(const driver::DriverApi& api, int thread) {
    for (int device = 0; device < kDevices; ++device) {
      streams.emplace_back(api, device);
      for (const std::string& descriptor : test::device_descriptors()) {
        calls.push_back(std::make_unique<DeviceCall>(
            api, device,
            test::small_problem(descriptor, static_cast<std::uint64_t>(thread), 1, 128)));
      }
    }
    launched.resize(calls.size());
  }

  std::vector<driver::StreamOwner> streams;        // by device
  std::vector<std::unique_ptr<DeviceCall>> calls;  // by device, then descriptor
  std::vector<char> launched;                      // of each call
};

}  // namespace

TEST_CASE("Several devices: the first use from many threads compiles and loads once", "[sim]") {
  const SimMachine& machine = SimMachine::with("sm_90a,sm_100a");
  KernelService service = machine.service();
  const auto& descriptors = test::device_descriptors();
  std::atomic<int> wrong{0};
  on_all_threads([&](int thread) {
    for (std::size_t i = 0; i < 2 * descriptors.size(); ++i) {
      const auto at = i + static_cast<std::size_t>(thread);
      const int device = static_cast<int>(at % kDevices);
      const Kernel kernel = service.get(descriptors[at / kDevices % descriptors.size()], device);
      wrong += kernel.device() != device ||
               kernel.info().arch != driver::device_info(machine.api(), device).arch;
    }
  });
  CHECK(wrong == 0);
  CHECK(service.stats().compiles == kDevices * descriptors.size());
  for (int device = 0; device < kDevices; ++device) {
    const DeviceStats stats = service.device_stats(device);
    CHECK(stats.loads == descriptors.size());
    CHECK(stats.loaded_kernels == descriptors.size());
    CHECK(stats.requests == kThreads * descriptors.size());
    CHECK(stats.load_failures == 0);
  }
}

TEST_CASE(
    "Several devices: launches of 32 threads each have their own attributes, stream and "
    "device",
    "[sim]") {
  const SimMachine& machine = SimMachine::with("sm_90a,sm_100a");
  const driver::DriverApi& api = machine.api();
  KernelService service = machine.service();
  const auto& descriptors = test::device_descriptors();
  std::vector<Worker> workers;
  for (int thread = 0; thread < kThreads; ++thread) {
    workers.emplace_back(api, thread);
  }
  std::mutex mutex;
  std::string first_finding;
  std::atomic<int> seen_launches{0};
  const test::LaunchRecorder recorder(api, [&](const test::SeenLaunch& seen) {
    ++seen_launches;
    if (const std::string finding = what_is_wrong(seen); !finding.empty()) {
      const std::lock_guard lock(mutex);
      first_finding = first_finding.empty() ? finding : first_finding;
    }
  });

  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::atomic<int> tickets{kLaunches};
  std::atomic<int> changed_contexts{0};
  on_all_threads([&](int thread) {
    std::mt19937 random(seed + static_cast<unsigned>(thread));
    Worker& worker = workers[static_cast<std::size_t>(thread)];
    while (tickets.fetch_sub(1) > 0) {
      const std::size_t pick = random() % worker.calls.size();
      const DeviceCall& call = *worker.calls[pick];
      const auto device = static_cast<std::size_t>(call.ordinal());
      const test::Caller caller(api, static_cast<int>(random() % 3) - 1);
      const Kernel kernel = service.get(descriptors[pick % descriptors.size()], call.ordinal());
      // Each thread waits now and then, so that its queue stays short.
      const Stream stream = worker.streams[device].get();
      expected = {&kernel, &call, stream};
      call.launch(kernel, stream);
      worker.launched[pick] = 1;
      changed_contexts += !caller.unchanged();
    }
    for (const driver::StreamOwner& stream : worker.streams) {
      stream.synchronize();
    }
  });
  CHECK(first_finding.empty());
  CHECK(seen_launches == kLaunches);
  CHECK(changed_contexts == 0);
  CHECK(service.stats().compiles == kDevices * descriptors.size());
  int wrong = 0;
  for (const Worker& worker : workers) {
    for (std::size_t i = 0; i < worker.calls.size(); ++i) {
      wrong += worker.launched[i] != 0 ? !worker.calls[i]->difference().empty()
                                       : !worker.calls[i]->is_poisoned();
    }
  }
  CHECK(wrong == 0);
}

// SPDX-License-Identifier: Apache-2.0
#include "tests/support/driver_cases.hpp"

#include "src/driver/device.hpp"
#include "src/driver/device_memory.hpp"
#include "src/driver/graph.hpp"
#include "src/driver/launch.hpp"
#include "src/driver/library.hpp"
#include "src/driver/stream.hpp"
#include "src/nvrtc/inspect.hpp"
#include "src/nvrtc/nvrtc.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/real_nvrtc.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace quantjit;
using driver::CaptureState;
using driver::DeviceBuffer;
using driver::DriverApi;
using driver::Image;
using driver::Library;
using driver::ProgrammaticLaunch;
using quantjit::test::ContainsSubstring;

namespace {

constexpr int kThreads = 64;

const std::string kSource = R"(
struct Parameters { int* out; int add; int pad[5]; };
extern "C" __global__ void add(const __grid_constant__ Parameters p) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  p.out[blockIdx.x * blockDim.x + threadIdx.x] += p.add;
}
extern "C" __global__ void reverse(const __grid_constant__ Parameters p) {
  __shared__ int values[100];
  values[threadIdx.x] = p.out[threadIdx.x];
  __syncthreads();
  p.out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}
)";

struct Parameters {
  std::uint64_t out = 0;
  int add = 0;
  int pad[5] = {};
};

const DriverApi& api() {
  return DriverApi::get(test::driver_path_of_tests());
}

Image compile(const std::string& source, const Arch& arch) {
  const nvrtc::Nvrtc compiler(test::nvrtc_path_of_tests());
  nvrtc::CompileRequest request;
  request.source = {"cases.cu", source};
  request.arch = arch;
  request.kind = api().wants_ptx() ? nvrtc::CodeKind::kPtx : nvrtc::CodeKind::kCubin;
  return std::make_shared<const std::vector<std::byte>>(compiler.compile(request).code);
}

/// The kernels above, compiled once for device 0.
const Image& image() {
  static const Image compiled = compile(kSource, driver::device_info(api(), 0).arch);
  return compiled;
}

std::vector<int> download(const DeviceBuffer& buffer) {
  std::vector<int> values(buffer.size() / sizeof(int));
  buffer.download(std::as_writable_bytes(std::span(values)));
  return values;
}

/// Two blocks of counters, and one of poison behind them that no kernel may touch.
DeviceBuffer counters() {
  DeviceBuffer buffer(api(), 0, 3 * kThreads * sizeof(int));
  buffer.fill(0);
  const std::vector<std::byte> poison(kThreads * sizeof(int), std::byte{0xA5});
  buffer.upload(poison, 2 * kThreads * sizeof(int));
  return buffer;
}

bool all_counters_are(const DeviceBuffer& buffer, int expected) {
  const auto values = download(buffer);
  int wrong = 0;
  for (int index = 0; index < 3 * kThreads; ++index) {
    const int wanted = index < 2 * kThreads ? expected : static_cast<int>(0xA5A5A5A5U);
    wrong += values[static_cast<std::size_t>(index)] != wanted;
  }
  return wrong == 0;
}

driver::LaunchConfig two_blocks(const driver::StreamOwner& stream,
                                ProgrammaticLaunch programmatic = ProgrammaticLaunch::kOff) {
  return {{2, 1, 1}, {kThreads, 1, 1}, 0, stream.get(), programmatic};
}

}  // namespace

TEST_CASE("driver: the device describes itself completely", "[driver]") {
  const auto& info = driver::device_info(api(), 0);
  CHECK(api().version() >= driver::kMinimumDriverVersion);
  CHECK_FALSE(info.name.empty());
  CHECK(info.major >= 9);
  CHECK(info.arch == Arch::from_compute_capability(info.major, info.minor));
  CHECK(info.sm_count > 0);
  CHECK(info.warp_size == 32);
  CHECK(info.max_threads_per_block == 1024);
  CHECK(info.max_threads_per_sm >= 1024);
  CHECK(info.l2_bytes > 0);
  CHECK(info.memory_bytes > 0);
  CHECK(info.shared_bytes_per_block >= 48 * 1024);
  CHECK(info.shared_bytes_per_block_optin >= info.shared_bytes_per_block);
  CHECK(driver::free_memory_bytes(api(), 0) <= info.memory_bytes);
}

TEST_CASE("driver: no call leaves a context current that was not", "[driver]") {
  CHECK_FALSE(driver::current_device(api()));
  {
    const DeviceBuffer buffer = counters();
    const driver::StreamOwner stream(api(), 0);
    const auto library = Library::load(api(), image());
    library.prepare(library.kernel("add"), 0);
    CHECK(driver::device_of_stream(api(), stream.get()) == 0);
    CHECK(driver::device_of_pointer(api(), buffer.data()) == 0);
  }
  CHECK_FALSE(driver::current_device(api()));
  const driver::ContextGuard guard(api(), 0);
  CHECK(driver::current_device(api()) == 0);
  CHECK(driver::device_of_stream(api(), nullptr) == 0);
}

TEST_CASE("driver: kernels are found by name and say the same of themselves as the code does",
          "[driver]") {
  const auto library = Library::load(api(), image(), {"the cases", std::nullopt});
  const auto properties = nvrtc::inspect_code(*image());
  for (const char* const name : {"add", "reverse"}) {
    CAPTURE(name);
    const auto kernel = library.kernel(name);
    const auto attributes = library.attributes(kernel, 0);
    CHECK(attributes.registers > 0);
    CHECK(attributes.local_bytes == 0);
    CHECK(attributes.max_threads_per_block == 1024);
    CHECK(attributes.static_shared_bytes == (std::string(name) == "reverse" ? 400 : 0));
    REQUIRE(properties.find(name) != nullptr);
    CHECK(properties.find(name)->dependency_wait == (std::string(name) == "add"));
    if (!api().wants_ptx()) {
      CHECK(attributes.registers == properties.find(name)->registers);
      CHECK(attributes.static_shared_bytes == properties.find(name)->shared_bytes);
      CHECK(properties.find(name)->parameter_bytes == sizeof(Parameters));
    }
    CHECK_NOTHROW(library.require_single_parameter(kernel, 0, sizeof(Parameters)));
    CHECK_THROWS_AS(library.require_single_parameter(kernel, 0, sizeof(Parameters) - 8),
                    DriverError);
  }
  CHECK_FALSE(library.find_kernel("subtract"));
  CHECK_THROWS_WITH(library.kernel("subtract"),
                    ContainsSubstring("the cases has no kernel subtract"));
}

TEST_CASE("driver: launches run in stream order, with and without the programmatic attribute",
          "[driver]") {
  const auto library = Library::load(api(), image());
  const auto kernel = library.kernel("add");
  const driver::StreamOwner stream(api(), 0);
  const DeviceBuffer buffer = counters();
  int expected = 0;
  for (int round = 1; round <= 20; ++round) {
    const auto programmatic = round % 3 == 0 ? ProgrammaticLaunch::kOff : ProgrammaticLaunch::kOn;
    driver::launch_with(api(), kernel, two_blocks(stream, programmatic),
                        Parameters{buffer.address(), round, {}});
    expected += round;
  }
  stream.synchronize();
  CHECK(all_counters_are(buffer, expected));
}

TEST_CASE("driver: shared memory and barriers work in a launched kernel", "[driver]") {
  const auto library = Library::load(api(), image());
  const driver::StreamOwner stream(api(), 0);
  std::vector<int> values(kThreads);
  for (int index = 0; index < kThreads; ++index) {
    values[static_cast<std::size_t>(index)] = index * index;
  }
  const DeviceBuffer buffer(api(), 0, values.size() * sizeof(int));
  buffer.upload(std::as_bytes(std::span(values)));
  driver::launch_with(api(), library.kernel("reverse"),
                      {{1, 1, 1}, {kThreads, 1, 1}, 0, stream.get(), ProgrammaticLaunch::kOff},
                      Parameters{buffer.address(), 0, {}});
  stream.synchronize();
  const std::vector<int> reversed(values.rbegin(), values.rend());
  CHECK(download(buffer) == reversed);
}

TEST_CASE("driver: a captured launch runs when the graph does, each time", "[driver]") {
  const auto library = Library::load(api(), image());
  const auto kernel = library.kernel("add");
  library.prepare(kernel, 0);
  const driver::StreamOwner stream(api(), 0);
  const DeviceBuffer buffer = counters();
  CHECK(driver::capture_state(api(), stream.get()) == CaptureState::kNone);
  driver::GraphCapture capture(api(), stream.get());
  CHECK(driver::capture_state(api(), stream.get()) == CaptureState::kActive);
  CHECK(driver::device_of_stream(api(), stream.get()) == 0);
  for (int add = 1; add <= 2; ++add) {
    driver::launch_with(api(), kernel, two_blocks(stream, ProgrammaticLaunch::kOn),
                        Parameters{buffer.address(), add, {}});
  }
  const auto graph = capture.end();
  CHECK(graph.node_count() == 2);
  CHECK(driver::capture_state(api(), stream.get()) == CaptureState::kNone);
  CHECK(all_counters_are(buffer, 0));
  for (int round = 1; round <= 3; ++round) {
    graph.launch(stream.get());
    stream.synchronize();
    CHECK(all_counters_are(buffer, 3 * round));
  }
}

TEST_CASE("driver: a kernel can be loaded inside a capture under the relaxed guard", "[driver]") {
  const driver::StreamOwner stream(api(), 0);
  const DeviceBuffer buffer = counters();
  driver::GraphCapture capture(api(), stream.get());
  std::optional<Library> library;
  {
    const driver::RelaxedCaptureGuard guard(api());
    library.emplace(Library::load(api(), image()));
    library->prepare(library->kernel("add"), 0);
  }
  CHECK(driver::capture_state(api(), stream.get()) == CaptureState::kActive);
  driver::launch_with(api(), library->kernel("add"), two_blocks(stream),
                      Parameters{buffer.address(), 9, {}});
  const auto graph = capture.end();
  graph.launch(stream.get());
  stream.synchronize();
  CHECK(all_counters_are(buffer, 9));
}

TEST_CASE("driver: an abandoned capture leaves the stream usable", "[driver]") {
  const auto library = Library::load(api(), image());
  const driver::StreamOwner stream(api(), 0);
  const DeviceBuffer buffer = counters();
  {
    const driver::GraphCapture capture(api(), stream.get());
    driver::launch_with(api(), library.kernel("add"), two_blocks(stream),
                        Parameters{buffer.address(), 5, {}});
  }
  driver::launch_with(api(), library.kernel("add"), two_blocks(stream),
                      Parameters{buffer.address(), 4, {}});
  stream.synchronize();
  CHECK(all_counters_are(buffer, 4));
}

TEST_CASE("driver: a geometry that the device cannot run is refused and does no harm", "[driver]") {
  const auto library = Library::load(api(), image());
  const driver::StreamOwner stream(api(), 0);
  const DeviceBuffer buffer = counters();
  auto config = two_blocks(stream);
  config.block.x = 4096;
  const Parameters parameters{buffer.address(), 1, {}};
  CHECK_THROWS_WITH(driver::launch_with(api(), library.kernel("add"), config, parameters),
                    ContainsSubstring("block 4096x1x1"));
  driver::launch_with(api(), library.kernel("add"), two_blocks(stream), parameters);
  stream.synchronize();
  CHECK(all_counters_are(buffer, 1));
}

TEST_CASE("driver: damaged code is refused with a typed error", "[driver]") {
  auto damaged = std::make_shared<std::vector<std::byte>>(*image());
  if (api().wants_ptx()) {
    damaged->resize(damaged->size() / 2);
    damaged->back() = std::byte{0};
  } else {
    // Not cut in half: drivers look at the parts of a cubin only when they need them.
    std::fill_n(damaged->begin(), 64, std::byte{0});
  }
  const auto load_and_find = [&] {
    const auto library = Library::load(api(), damaged, {"a damaged image", std::nullopt});
    library.prepare(library.kernel("reverse"), 0);
  };
  CHECK_THROWS_AS(load_and_find(), DriverError);
  const std::string nonsense = ".version 8.0\n.target sm_90\n.address_size 64\nnonsense;\n";
  const auto* const begin = reinterpret_cast<const std::byte*>(nonsense.data());
  const auto text = std::make_shared<const std::vector<std::byte>>(begin, begin + nonsense.size());
  // Some drivers read PTX when it is loaded, others when a kernel of it is asked for.
  CHECK_THROWS_AS(Library::load(api(), text).kernel("reverse"), DriverError);
}

TEST_CASE("driver: code for another target says which, and which device is there", "[driver]") {
  const auto& info = driver::device_info(api(), 0);
  const Arch other = Arch::parse(info.major == 12 ? "sm_90a" : "sm_120a");
  try {
    const auto library = Library::load(api(), compile(kSource, other), {"the cases", other});
    library.prepare(library.kernel("add"), 0);
    FAIL("code for " + other.to_string() + " was accepted by " + info.arch.to_string());
  } catch (const DriverError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("targets " + other.to_string()));
    CHECK_THAT(error.what(), ContainsSubstring("is sm_" + std::to_string(info.arch.number())));
  }
}

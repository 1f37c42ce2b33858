// SPDX-License-Identifier: Apache-2.0
// Kernels of the program through the service, compiled and run on the simulated device.
#include "src/driver/device_memory.hpp"
#include "src/driver/stream.hpp"
#include "tests/sim/descriptor_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/error.hpp>
#include <quantjit/ops.hpp>
#include <quantjit/source.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

using namespace quantjit;
using namespace quantjit::test;

namespace {

struct AddParams {
  std::int32_t* data;
  std::uint32_t count;
  std::uint32_t times;
};

const std::string kParams =
    "#pragma once\nstruct AddParams { int* data; unsigned count; unsigned times; };\n";

/// Adds kAmount, `times` times, and `extra` once.
std::string kernel_text(int extra) {
  return "#include \"device/pdl.cuh\"\n#include \"engine/params.h\"\nnamespace engine {\n"
         "template <int kAmount, bool kPdl>\n"
         "__global__ void add(const __grid_constant__ AddParams p) {\n"
         "  quantjit::device::pdl_wait<kPdl>();\n"
         "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i < p.count) { p.data[i] += kAmount * static_cast<int>(p.times) + " +
         std::to_string(extra) +
         "; }\n  quantjit::device::pdl_trigger<kPdl>();\n}\n}  // namespace engine\n";
}

Source add_source(int extra = 0) {
  return {.op = "add",
          .path = "engine/add.cuh",
          .text = kernel_text(extra),
          .includes = {{"engine/params.h", kParams}},
          .keys = {{"amount", {{"one", "1"}, {"ten", "10"}}}},
          .entries = {{"engine::add", {"amount", "pdl"}}},
          .parameter_bytes = sizeof(AddParams)};
}

/// 100 numbers on the device, 0 at first.
class Numbers {
 public:
  explicit Numbers(const SimDevice& device)
      : buffer_(device.api(), device.ordinal(), kCount * sizeof(std::int32_t)) {
    buffer_.fill(0);
  }

  void add(const Kernel& kernel, std::uint32_t times = 1, Stream stream = nullptr) const {
    launch(kernel, {.grid = {4, 1, 1}, .block = {32, 1, 1}}, params(times), stream);
  }

  [[nodiscard]] AddParams params(std::uint32_t times) const {
    return {static_cast<std::int32_t*>(buffer_.data()), kCount, times};
  }

  /// What all of them are now.
  [[nodiscard]] std::int32_t value() const {
    std::vector<std::int32_t> all(kCount);
    buffer_.download(std::as_writable_bytes(std::span(all)));
    REQUIRE(all == std::vector<std::int32_t>(kCount, all.front()));
    return all.front();
  }

 private:
  static constexpr std::uint32_t kCount = 100;
  driver::DeviceBuffer buffer_;
};

ServiceOptions on_disk(const TemporaryDirectory& root, bool jit) {
  ServiceOptions options;
  options.cache_roots = std::vector<std::string>{root.path() / "cache"};
  options.cuda_driver = QUANTJIT_SIMCUDA_LIBRARY;
  options.jit = jit;
  return options;
}

}  // namespace

TEST_CASE("Own kernels: a registered source runs like a kernel of the library", "[sim]") {
  SimDevice device("sm_90a");
  device.service().register_source(add_source());
  const Kernel one = device.service().get("add", device.ordinal());
  const Kernel ten = device.service().get("add:amount=ten,pdl=false", device.ordinal());
  REQUIRE(one.info().traits == "add:amount=one,pdl=true");
  REQUIRE(one.info().entry_points.front().name == "engine::add<1, true>");
  REQUIRE(one.info().entry_points.front().pdl_wait);
  REQUIRE_FALSE(ten.info().entry_points.front().pdl_wait);
  const Numbers numbers(device);
  for (int i = 0; i < 5; ++i) {  // each may start before the one in front has ended
    numbers.add(one, 3);
  }
  numbers.add(ten);
  REQUIRE(numbers.value() == 25);
  const ServiceStats stats = device.service().stats();
  REQUIRE(stats.compiles == 2);
  static_cast<void>(device.service().get("add:pdl=true,amount=one", device.ordinal()));
  REQUIRE(device.service().stats().compiles == 2);
}

TEST_CASE("Own kernels: what one process stored another one loads without a compiler", "[sim]") {
  SimDevice device("sm_90a");
  const TemporaryDirectory root;
  {
    KernelService writer(on_disk(root, true));
    writer.register_source(add_source());
    static_cast<void>(writer.get("add:amount=ten", device.ordinal()));
  }
  KernelService reader(on_disk(root, false));
  reader.register_source(add_source());
  const Numbers numbers(device);
  numbers.add(reader.get("add:amount=ten", device.ordinal()));
  REQUIRE(numbers.value() == 10);
  REQUIRE(reader.stats().disk_hits == 1);

  KernelService other(on_disk(root, false));
  other.register_source(add_source(7));
  REQUIRE_THROWS_AS(other.get("add:amount=ten", device.ordinal()), SealedMiss);
  ServiceOptions options = on_disk(root, false);
  options.code = CodeKind::kPtx;
  KernelService asking(options);
  asking.register_source(add_source(7));
  const Explanation why = asking.explain(asking.parse("add:amount=ten"), Arch::parse("sm_90a"));
  REQUIRE_FALSE(why.hit);
  REQUIRE(why.differs.size() == 1);
  REQUIRE(why.differs.front().field == "source engine/add.cuh");
}

TEST_CASE("Own kernels: they are prewarmed and sealed like any other", "[sim]") {
  SimDevice device("sm_90a");
  KernelService& service = device.service();
  service.register_source(add_source());
  const Arch arch = Arch::parse("sm_90a");
  PrewarmOptions options;
  options.devices = {device.ordinal()};
  const PrewarmReport report = service.prewarm(
      {{service.parse("add:amount=ten"), arch}, {service.parse("per_token_quant"), arch}}, options);
  REQUIRE(report.complete());
  REQUIRE(report.requested == 2);
  REQUIRE(report.loaded == 2);
  service.seal();
  const Numbers numbers(device);
  numbers.add(service.get("add:amount=ten", device.ordinal()));
  REQUIRE(numbers.value() == 10);
  REQUIRE_THROWS_WITH(service.get("add:amount=one", device.ordinal()),
                      ContainsSubstring("before the service is sealed"));
}

TEST_CASE("Own kernels: a source of the same name takes the place of the old one", "[sim]") {
  SimDevice device("sm_90a");
  KernelService& service = device.service();
  service.register_source(add_source());
  const Kernel old = service.get("add", device.ordinal());
  service.register_source(add_source());  // the same again changes nothing
  REQUIRE(service.get("add", device.ordinal()).state() == old.state());
  service.register_source(add_source(100));
  REQUIRE(service.device_stats(device.ordinal()).loaded_kernels == 0);
  const Numbers numbers(device);
  numbers.add(service.get("add", device.ordinal()));
  REQUIRE(numbers.value() == 101);
  numbers.add(old);
  REQUIRE(numbers.value() == 102);
}

TEST_CASE("Own kernels: an edited file is used after reload_sources", "[sim]") {
  SimDevice device("sm_90a");
  KernelService& service = device.service();
  const TemporaryDirectory folder;
  const std::string path = folder.path() / "add.cuh";
  std::ofstream(path) << kernel_text(0);
  Source source = add_source();
  source.text.clear();
  source.file = path;
  service.register_source(source);
  const Numbers numbers(device);
  numbers.add(service.get("add", device.ordinal()));
  std::ofstream(path) << kernel_text(40);
  numbers.add(service.get("add", device.ordinal()));
  REQUIRE(numbers.value() == 2);
  service.reload_sources();
  numbers.add(service.get("add", device.ordinal()));
  REQUIRE(numbers.value() == 43);
  std::filesystem::remove(path);
  REQUIRE_THROWS_AS(service.reload_sources(), InvalidArgument);
}

TEST_CASE("Own kernels: a source that does not compile says why and is not stored", "[sim]") {
  SimDevice device("sm_90a");
  Source source = add_source();
  source.text += "static_assert(sizeof(AddParams) == 17, \"the struct of the kernel\");\n";
  device.service().register_source(source);
  try {
    static_cast<void>(device.service().get("add", device.ordinal()));
    FAIL("it compiled");
  } catch (const CompileError& error) {
    REQUIRE_THAT(error.details().log, ContainsSubstring("the struct of the kernel"));
    REQUIRE(error.details().traits == "add:amount=one,pdl=true");
  }
}

TEST_CASE("Own kernels: a parameter struct of another size is refused when it is loaded", "[sim]") {
  SimDevice device("sm_90a");
  Source source = add_source();
  source.parameter_bytes = 24;
  device.service().register_source(source);
  REQUIRE_THROWS_AS(device.service().get("add", device.ordinal()), DriverError);
}

TEST_CASE("Own kernels: a launch that breaks the schema is refused before any CUDA call", "[sim]") {
  SimDevice device("sm_90a");
  KernelService& service = device.service();
  service.register_source(add_source());
  const Kernel kernel = service.get("add", device.ordinal());
  const Numbers numbers(device);
  const AddParams params = numbers.params(1);
  const auto refused = [&](const RawLaunch& how, std::size_t bytes = sizeof(AddParams)) {
    REQUIRE_THROWS_AS(launch(kernel, how, &params, bytes, nullptr), InvalidArgument);
  };
  refused({.entry = 1});
  refused({.grid = {0, 1, 1}});
  refused({.block = {32, 0, 1}});
  refused({.shared_bytes = 48 * 1024 + 1});
  refused({}, sizeof(AddParams) - 1);
  REQUIRE_THROWS_AS(launch(kernel, {}, nullptr, sizeof(AddParams), nullptr), InvalidArgument);
  REQUIRE_THROWS_AS(launch(Kernel(), {}, params, nullptr), InvalidArgument);
  const Kernel built_in = service.get("per_token_quant", device.ordinal());
  REQUIRE_THROWS_AS(launch(built_in, {}, params, nullptr), InvalidArgument);
  REQUIRE_THROWS_AS(per_token_quant(kernel, {}, nullptr), InvalidArgument);
  REQUIRE_THROWS_AS(output_specs(kernel.traits(), {}), InvalidArgument);
  REQUIRE_THROWS_AS(service.register_source([] {
    Source source = add_source();
    source.path = "per_token_quant.cuh";
    return source;
  }()),
                    InvalidArgument);
  REQUIRE(numbers.value() == 0);
}

TEST_CASE("Own kernels: they run on a stream of the caller", "[sim]") {
  SimDevice device("sm_100a");
  KernelService& service = device.service();
  service.register_source(add_source());
  const driver::StreamOwner stream(device.api(), device.ordinal());
  const Numbers numbers(device);
  const Kernel kernel = service.get("add", kCurrentDevice, stream.get());
  REQUIRE(kernel.device() == device.ordinal());
  numbers.add(kernel, 2, stream.get());
  stream.synchronize();
  REQUIRE(numbers.value() == 2);
}

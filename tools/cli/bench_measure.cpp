// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/bench_measure.hpp"

#include "src/driver/device.hpp"
#include "src/driver/device_memory.hpp"
#include "src/driver/graph.hpp"
#include "src/driver/launch.hpp"
#include "src/driver/library.hpp"
#include "src/driver/stream.hpp"

#include <quantjit/ops.hpp>
#include <quantjit/reference.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace quantjit::cli {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kRotatedBytes = 180 * kMiB;  // three times the L2 of an H200
constexpr std::int64_t kMostBytes = 24 * 1024 * kMiB;
constexpr std::int64_t kFewLaunchesFrom = 256 * kMiB;
constexpr int kWarmUps = 3;
constexpr double kWarmMs = 10;
constexpr int kReplays = 20;

/// Replays a captured graph of `launches` launches and gives the time of one launch. Every replay
/// is waited for: once hundreds of launches have queued up, an H200's driver launches all that
/// follow some 10 us later (empty graphs of 64 launches: 0.46 us a launch before, 0.64 after), for
/// as long as the process lives.
Timing replay(const OpenDevice& device, const driver::ExecutableGraph& graph,
              const driver::StreamOwner& stream, int launches) {
  const driver::Event start(*device.api, device.ordinal);
  const driver::Event stop(*device.api, device.ordinal);
  const auto once = [&] {
    start.record(stream.get());
    graph.launch(stream.get());
    stop.record(stream.get());
    stop.synchronize();
    return static_cast<double>(stop.milliseconds_since(start));
  };
  // An idle device lowers its clocks and takes milliseconds to raise them.
  double warm_ms = 0;
  for (int i = 0; i < kWarmUps || warm_ms < kWarmMs; ++i) {
    warm_ms += once();
  }
  std::vector<double> times;
  for (int i = 0; i < kReplays; ++i) {
    times.push_back(once() * 1000.0 / launches);
  }
  std::sort(times.begin(), times.end());
  return {(times[times.size() / 2 - 1] + times[times.size() / 2]) / 2, times.front()};
}

template <typename Launch>
Timing time_graph(const OpenDevice& device, int launches, Launch launch) {
  const driver::ContextGuard context(*device.api, device.ordinal);
  const driver::StreamOwner stream(*device.api, device.ordinal);
  driver::GraphCapture capture(*device.api, stream.get());
  for (int i = 0; i < launches; ++i) {
    launch(i, stream.get());
  }
  const driver::ExecutableGraph graph = capture.end();
  return replay(device, graph, stream, launches);
}

/// An empty kernel of 8 blocks of 32 threads, the shape whose two times on an H200 are those that
/// the originals were recorded beside (0.569 and 0.509 us; recorded 0.564 and 0.510).
double empty_kernel_us(const OpenDevice& device, driver::ProgrammaticLaunch programmatic) {
  constexpr std::string_view kPtx =
      ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry empty()\n{\n "
      "griddepcontrol.wait;\n ret;\n}\n";
  std::vector<std::byte> image(kPtx.size());
  std::memcpy(image.data(), kPtx.data(), kPtx.size());
  const auto library = driver::Library::load(
      *device.api, std::make_shared<const std::vector<std::byte>>(std::move(image)),
      {"the empty kernel", std::nullopt});
  const driver::KernelHandle kernel = library.kernel("empty");
  library.prepare(kernel, device.ordinal);
  driver::LaunchConfig config{.grid = {.x = 8}, .block = {.x = 32}, .programmatic = programmatic};
  return time_graph(device, 64,
                    [&](int, CUstream_st* stream) {
                      config.stream = stream;
                      driver::launch(*device.api, kernel, config, nullptr);
                    })
      .us_median;
}

double copy_gb_per_s(const OpenDevice& device) {
  constexpr std::size_t kBytes = std::size_t{2} << 30;
  const driver::DeviceBuffer from(*device.api, device.ordinal, kBytes);
  const driver::DeviceBuffer to(*device.api, device.ordinal, kBytes);
  from.fill(0x5A);
  const driver::StreamOwner stream(*device.api, device.ordinal);
  const driver::Event start(*device.api, device.ordinal);
  const driver::Event stop(*device.api, device.ordinal);
  // Not as a graph: its copy nodes take a path of less bandwidth than a copy on a stream.
  std::vector<double> times;
  for (int i = 0; i < kWarmUps + kReplays; ++i) {
    start.record(stream.get());
    to.copy_async(from, stream.get());
    stop.record(stream.get());
    stop.synchronize();
    if (i >= kWarmUps) {
      times.push_back(static_cast<double>(stop.milliseconds_since(start)));
    }
  }
  std::sort(times.begin(), times.end());
  return 2.0 * static_cast<double>(kBytes) / (times[times.size() / 2] * 1e6);
}

TensorView input_of(const BenchCase& bench, void* data, int device) {
  const auto* const group = std::get_if<PerTokenGroupQuant>(&bench.descriptor.traits);
  const std::int64_t columns = bench.hidden * (group != nullptr && group->silu ? 2 : 1);
  const DType dtype = input_dtype(bench.descriptor.traits);
  return bench.experts == 0
             ? TensorView::contiguous(data, dtype, {bench.tokens, columns}, device)
             : TensorView::contiguous(data, dtype, {bench.experts, bench.tokens, columns}, device);
}

/// A few MiB of normal data on the device, repeated into every input: what a kernel does does not
/// depend on where the values come again.
class NormalData {
 public:
  NormalData(const OpenDevice& device, DType dtype) : tile_(*device.api, device.ordinal, kBytes) {
    std::vector<std::byte> host(kBytes);
    const std::size_t count = kBytes / size_in_bytes(dtype);
    reference::generate(reference::InputKind::kNormal, dtype, 1, count, count, host.data());
    tile_.upload(host);
  }

  void fill(const driver::DeviceBuffer& buffer, const driver::StreamOwner& stream) const {
    for (std::size_t done = 0; done < buffer.size();) {
      const driver::DeviceBuffer& from = done == 0 ? tile_ : buffer;
      const std::size_t bytes = std::min(done == 0 ? kBytes : done, buffer.size() - done);
      buffer.copy_part_async(from, bytes, done, stream.get());
      done += bytes;
    }
    stream.synchronize();
  }

 private:
  static constexpr std::size_t kBytes = 2 << 20;
  driver::DeviceBuffer tile_;
};

/// One set of operands with its memory.
class BufferSet {
 public:
  BufferSet(const OpenDevice& device, const BenchCase& bench, const OutputSpecs& specs)
      : input_(*device.api, device.ordinal,
               static_cast<std::size_t>(input_of(bench, nullptr, 0).numel()) *
                   size_in_bytes(input_dtype(bench.descriptor.traits))),
        q_(*device.api, device.ordinal, specs.q.storage_bytes()),
        s_(*device.api, device.ordinal, specs.s.storage_bytes()),
        mask_(*device.api, device.ordinal, bench.masked_m.size() * sizeof(std::int32_t)) {
    args_ = {.input = input_of(bench, input_.data(), device.ordinal),
             .output_q = specs.q.over(q_.data(), device.ordinal),
             .output_s = specs.s.over(s_.data(), device.ordinal),
             .masked_m = {},
             .expected_m = bench.expected_m};
    if (bench.experts != 0) {
      const std::vector<std::int32_t> mask(bench.masked_m.begin(), bench.masked_m.end());
      mask_.upload(std::as_bytes(std::span(mask)));
      args_.masked_m =
          TensorView::contiguous(mask_.data(), DType::kInt32, {bench.experts}, device.ordinal);
    }
  }

  [[nodiscard]] const driver::DeviceBuffer& input() const { return input_; }

  void launch(const Kernel& kernel, CUstream_st* stream) const {
    if (std::holds_alternative<PerTokenGroupQuant>(kernel.traits())) {
      per_token_group_quant(kernel, args_, stream);
    } else {
      per_token_quant(kernel, {args_.input, args_.output_q, args_.output_s}, stream);
    }
  }

 private:
  driver::DeviceBuffer input_;
  driver::DeviceBuffer q_;
  driver::DeviceBuffer s_;
  driver::DeviceBuffer mask_;
  GroupQuantArgs args_;
};

}  // namespace

double measure_empty_pdl(const OpenDevice& device) {
  return empty_kernel_us(device, driver::ProgrammaticLaunch::kOn);
}

Floors measure_floors(const OpenDevice& device) {
  return {empty_kernel_us(device, driver::ProgrammaticLaunch::kOff),
          empty_kernel_us(device, driver::ProgrammaticLaunch::kOn), copy_gb_per_s(device)};
}

Timing measure_case(KernelService& service, const OpenDevice& device, const BenchCase& bench) {
  const Kernel kernel = service.get(bench.descriptor, device.ordinal);
  const TensorView shape = input_of(bench, nullptr, device.ordinal);
  const OutputSpecs specs = output_specs(bench.descriptor.traits, shape);
  const std::int64_t bytes = std::max<std::int64_t>(bench.live_bytes(), 1);
  const std::int64_t set_bytes =
      shape.numel() * static_cast<std::int64_t>(size_in_bytes(shape.dtype)) +
      static_cast<std::int64_t>(specs.q.storage_bytes() + specs.s.storage_bytes());
  const std::int64_t wanted = std::clamp<std::int64_t>((kRotatedBytes + bytes - 1) / bytes, 1, 64);
  const auto sets = static_cast<int>(std::clamp<std::int64_t>(kMostBytes / set_bytes, 1, wanted));
  const int launches = bytes >= kFewLaunchesFrom ? 16 : std::max(sets, 64);
  const NormalData data(device, input_dtype(bench.descriptor.traits));
  const driver::StreamOwner stream(*device.api, device.ordinal);
  std::vector<std::unique_ptr<const BufferSet>> buffers;
  for (int i = 0; i < sets; ++i) {
    buffers.push_back(std::make_unique<const BufferSet>(device, bench, specs));
    data.fill(buffers.back()->input(), stream);
  }
  return time_graph(device, launches, [&](int i, CUstream_st* launch_stream) {
    buffers[static_cast<std::size_t>(i % sets)]->launch(kernel, launch_stream);
  });
}

}  // namespace quantjit::cli

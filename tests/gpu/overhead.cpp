// SPDX-License-Identifier: Apache-2.0
// Host-side costs on a real device, each beside its floor in the same process:
//   overhead [--device N] [--json]
// - a verified disk hit, from constructing a KernelService to a loaded kernel (the context exists
// already)
// - a memory hit
// - the launch path over a bare cuLaunchKernelEx of the same kernel with the same parameters and
// attributes
#include "src/driver/device.hpp"
#include "src/driver/device_memory.hpp"
#include "src/driver/driver_table.hpp"
#include "src/driver/stream.hpp"
#include "src/ops/geometry.hpp"
#include "src/service/loaded_kernel.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/quantjit.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace quantjit;

namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Median over `rounds` of the mean time of `calls` calls, in nanoseconds. `finish` runs outside
/// the clock.
template <typename Call, typename Finish>
double time_calls(int rounds, int calls, Call call, Finish finish) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) {
      call();
    }
    times.push_back(nanoseconds_since(start) / calls);
    finish();
  }
  return median(std::move(times));
}

struct Workload {
  const char* name;
  std::string traits;
  std::int64_t tokens;
  std::int64_t hidden;
};

struct LaunchCost {
  double bare_ns = 0;
  double quantjit_ns = 0;
  double no_context_ns = 0;  ///< from a thread without a current context
};

/// Alternates blocks of bare and checked launches, so that drift of the machine hits both.
LaunchCost launch_cost(KernelService& service, const driver::DriverApi& api, int device,
                       const Workload& work) {
  const Descriptor descriptor = parse_descriptor(work.traits);
  const auto& traits = std::get<PerTokenGroupQuant>(descriptor.traits);
  const Kernel kernel = service.get(descriptor, device);
  const driver::StreamOwner stream(api, device);
  const driver::DeviceBuffer input(api, device,
                                   static_cast<std::size_t>(work.tokens * work.hidden * 2));
  input.fill(0x3F);
  const TensorView x =
      TensorView::contiguous(input.data(), DType::kBF16, {work.tokens, work.hidden}, device);
  const OutputSpecs specs = output_specs(descriptor.traits, x);
  const driver::DeviceBuffer q(api, device, specs.q.storage_bytes());
  const driver::DeviceBuffer s(api, device, specs.s.storage_bytes());
  const GroupQuantArgs args{.input = x,
                            .output_q = specs.q.over(q.data(), device),
                            .output_s = specs.s.over(s.data(), device)};

  const detail::LoadedKernel& loaded = *kernel.state();
  const ops::GroupQuantLaunch plan = ops::plan(traits,
                                               {.input = x.data,
                                                .output_q = args.output_q.data,
                                                .output_s = args.output_s.data,
                                                .num_tokens = work.tokens,
                                                .hidden_size = work.hidden,
                                                .q_rows = work.tokens,
                                                .input_token_stride = work.hidden,
                                                .q_token_stride = work.hidden,
                                                .s_token_stride = args.output_s.stride(0),
                                                .s_group_stride = args.output_s.stride(1)},
                                               {loaded.image->info.arch, loaded.device->sm_count});
  const driver::ContextGuard context(api, device);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  const CUlaunchConfig config{.gridDimX = plan.shape.grid.x,
                              .gridDimY = plan.shape.grid.y,
                              .gridDimZ = plan.shape.grid.z,
                              .blockDimX = plan.shape.block.x,
                              .blockDimY = plan.shape.block.y,
                              .blockDimZ = plan.shape.block.z,
                              .sharedMemBytes = plan.shape.shared_bytes,
                              .hStream = stream.get(),
                              .attrs = &attribute,
                              .numAttrs = 1};
  void* arguments[] = {const_cast<device::GroupQuantParams*>(&plan.params)};
  const auto function = reinterpret_cast<CUfunction>(loaded.entries[plan.shape.entry].get());
  const auto bare = [&] {
    driver::check(api, api.table().cuLaunchKernelEx(&config, function, arguments, nullptr),
                  "cuLaunchKernelEx");
  };
  const auto checked = [&] { per_token_group_quant(kernel, args, stream.get()); };
  const auto drain = [&] { stream.synchronize(); };
  const auto without_context = [&](int rounds, int calls) {
    double time = 0;
    std::thread([&] { time = time_calls(rounds, calls, checked, drain); }).join();
    return time;
  };

  constexpr int kRounds = 40;
  constexpr int kCalls =
      256;  // below the depth of the launch queue, so that no call waits for the device
  time_calls(5, kCalls, bare, drain);
  time_calls(5, kCalls, checked, drain);
  std::vector<double> bare_times;
  std::vector<double> checked_times;
  for (int i = 0; i < kRounds; ++i) {
    bare_times.push_back(time_calls(1, kCalls, bare, drain));
    checked_times.push_back(time_calls(1, kCalls, checked, drain));
  }
  return {median(bare_times), median(checked_times), without_context(kRounds, kCalls)};
}

double disk_hit_ms(const ServiceOptions& options, const Descriptor& descriptor, int device) {
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    const auto start = Clock::now();
    KernelService service(options);
    const Kernel kernel = service.get(descriptor, device);
    times.push_back(nanoseconds_since(start) / 1e6);
    if (service.stats().disk_hits != 1) {
      std::fprintf(stderr, "overhead: this was no disk hit\n");
      std::exit(1);
    }
  }
  return median(std::move(times));
}

}  // namespace

int main(int argc, char** argv) {
  int device = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--device") == 0) {
      device = std::atoi(argv[i + 1]);
    }
  }
  const test::TemporaryDirectory root;
  ServiceOptions options = ServiceOptions::from_environment();
  options.cache_roots = std::vector<std::string>{root.path().string()};
  const Descriptor descriptor = parse_descriptor("per_token_group_quant:scale=ue8m0,layout=col");
  KernelService service(options);
  const driver::DriverApi& api = driver::DriverApi::get(options.cuda_driver.value_or(""));
  const driver::ContextGuard context(api, device);
  service.get(descriptor, device);

  std::printf("{\n  \"device\": \"%s\",\n", device_info(api, device).name.c_str());
  std::printf("  \"disk_hit_ms\": %.3f,\n", disk_hit_ms(options, descriptor, device));
  std::printf("  \"memory_hit_ns\": %.1f,\n",
              time_calls(
                  31, 100000, [&] { service.get(descriptor, device); }, [] {}));
  const driver::StreamOwner stream(api, device);
  std::printf("  \"stream_context_ns\": %.1f,\n",
              time_calls(
                  31, 10000,
                  [&] { static_cast<void>(driver::context_of_stream(api, stream.get())); }, [] {}));
  std::printf("  \"current_context_ns\": %.1f,\n",
              time_calls(
                  31, 10000, [&] { static_cast<void>(driver::current_context(api)); }, [] {}));
  std::printf("  \"current_device_ns\": %.1f,\n",
              time_calls(
                  31, 10000, [&] { static_cast<void>(driver::current_device(api)); }, [] {}));
  std::printf("  \"launch\": [\n");
  const std::vector<Workload> workloads = {
      {"row f32 1x2048", "per_token_group_quant", 1, 2048},
      {"col ue8m0 1x7168", "per_token_group_quant:scale=ue8m0,layout=col", 1, 7168},
      {"col ue8m0 64x7168", "per_token_group_quant:scale=ue8m0,layout=col", 64, 7168}};
  for (const Workload& work : workloads) {
    const LaunchCost cost = launch_cost(service, api, device, work);
    std::printf(
        "    {\"case\": \"%s\", \"bare_ns\": %.1f, \"quantjit_ns\": %.1f, \"more_ns\": %.1f, "
        "\"more_without_context_ns\": %.1f}%s\n",
        work.name, cost.bare_ns, cost.quantjit_ns, cost.quantjit_ns - cost.bare_ns,
        cost.no_context_ns - cost.bare_ns, &work == &workloads.back() ? "" : ",");
  }
  std::printf("  ]\n}\n");
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Randomized comparison of a device with the CPU reference, whole poisoned buffers, byte for byte:
//   differential [--count N] [--seed S] [--jobs J] [--device N]
// A triple is a descriptor, a shape with its strides, and a seeded input. Only SiLU whose device
// form has no tabulated bits is compared with the documented tolerance, and counted apart.
// QUANTJIT_CUDA_DRIVER chooses the driver library.
#include "src/driver/device.hpp"
#include "tools/cli/compare.hpp"
#include "tools/cli/launch.hpp"

#include <quantjit/quantjit.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace quantjit;

namespace {

struct Options {
  std::uint64_t count = 20000;
  std::uint64_t seed = 1;
  unsigned jobs = std::thread::hardware_concurrency();
  int device = 0;
};

using Random = std::mt19937_64;

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

bool one_in(Random& random, int n) {
  return between(random, 1, n) == 1;
}

/// Small sizes often, odd ones mostly, a few large ones.
std::int64_t random_rows(Random& random) {
  switch (between(random, 0, 4)) {
    case 0: return between(random, 1, 9);
    case 1: return between(random, 1, 40);
    case 2: return between(random, 1, 130);
    case 3: return between(random, 1, 400);
    default: return 64 * between(random, 1, 5);
  }
}

io::Problem random_problem(Random& random, const Traits& traits) {
  io::Problem problem;
  problem.traits = traits;
  problem.tokens = random_rows(random);
  problem.seed = random();
  problem.kind = static_cast<reference::InputKind>(between(random, 0, 5));
  problem.pad_rows = one_in(random, 3) ? between(random, 1, 7) : 0;
  if (const auto* const group = std::get_if<PerTokenGroupQuant>(&traits)) {
    if (problem.kind == reference::InputKind::kRows) {
      problem.kind = reference::InputKind::kSpecial;
    }
    problem.hidden = group->group * between(random, 1, one_in(random, 4) ? 64 : 13);
    if (group->schedule == Schedule::kMasked) {
      problem.experts = between(random, 1, one_in(random, 4) ? 40 : 6);
      problem.tokens = between(random, 1, 48);
      problem.mask_dtype = one_in(random, 2) ? DType::kInt64 : DType::kInt32;
      for (std::int64_t e = 0; e < problem.experts; ++e) {
        problem.masked_m.push_back(between(random, -2, problem.tokens + 3));
      }
    }
  } else {
    problem.hidden = 4 * between(random, 1, one_in(random, 4) ? 4000 : 300);
    if (one_in(random, 2)) {
      problem.hidden = (problem.hidden + 15) / 16 * 16;
    }
    problem.tokens = one_in(random, 8) ? between(random, 2100, 2130)
                                       : problem.tokens;  // around the legacy threshold
    if (problem.tokens > 1000) {
      problem.hidden = std::min<std::int64_t>(problem.hidden, 512);
    }
  }
  return problem;
}

/// Moves a tensor's rows apart by `gap` bytes (a multiple of 16) and its experts by another row's
/// worth, in new memory filled with `poison`.
void spread(std::vector<std::byte>& bytes, TensorView& view, std::int64_t gap, std::byte poison) {
  const auto element = static_cast<std::int64_t>(size_in_bytes(view.dtype));
  const std::int64_t rows = view.size(-2);
  const std::int64_t row_bytes = view.size(-1) * element;
  const std::int64_t experts = view.ndim == 3 ? view.size(0) : 1;
  const std::int64_t pitch = row_bytes + gap;
  const std::int64_t expert_pitch = rows * pitch + gap;
  std::vector<std::byte> spaced(static_cast<std::size_t>(experts * expert_pitch), poison);
  for (std::int64_t e = 0; e < experts; ++e) {
    for (std::int64_t r = 0; r < rows; ++r) {
      std::memcpy(spaced.data() + e * expert_pitch + r * pitch,
                  bytes.data() + (e * rows + r) * row_bytes, static_cast<std::size_t>(row_bytes));
    }
  }
  bytes = std::move(spaced);
  view.data = bytes.data();
  view.strides[static_cast<std::size_t>(view.ndim - 2)] = pitch / element;
  if (view.ndim == 3) {
    view.strides[0] = expert_pitch / element;
  }
}

struct Totals {
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> exact{0};
  std::atomic<std::uint64_t> tolerated{0};
  std::atomic<std::uint64_t> failed{0};
};

std::string describe(std::uint64_t index, const io::Problem& problem, MathMode math) {
  std::string text =
      "triple " + std::to_string(index) + ": " + to_text(problem.traits) +
      " math=" + std::string(to_string(math)) + " tokens=" + std::to_string(problem.tokens) +
      " hidden=" + std::to_string(problem.hidden) + " experts=" + std::to_string(problem.experts) +
      " pad_rows=" + std::to_string(problem.pad_rows) +
      " kind=" + std::string(to_string(problem.kind)) + " seed=" + std::to_string(problem.seed) +
      " masked_m=";
  for (const std::int64_t m : problem.masked_m) {
    text += std::to_string(m) + ";";
  }
  return text;
}

class Worker {
 public:
  Worker(KernelService& service, const cli::OpenDevice& device, const Options& options,
         Totals& totals)
      : service_(service),
        device_(device),
        options_(options),
        totals_(totals),
        space_(enumerate_traits()) {}

  void run() {
    for (std::uint64_t i = totals_.next++; i < options_.count; i = totals_.next++) {
      Random random(options_.seed * 1'000'003 + i);
      const Traits& traits =
          space_[static_cast<std::size_t>(between(random, 0, std::ssize(space_) - 1))];
      const io::Problem problem = random_problem(random, traits);
      Descriptor descriptor{traits, one_in(random, 4) ? MathMode::kPrecise : MathMode::kAuto};
      try {
        check(i, problem, descriptor, random);
      } catch (const std::exception& error) {
        report(describe(i, problem, descriptor.math) + ": " + error.what());
      }
    }
  }

 private:
  void check(std::uint64_t index, const io::Problem& problem, const Descriptor& descriptor,
             Random& random) {
    io::ProblemBuffers buffers = make_buffers(problem);
    const bool grouped = std::holds_alternative<PerTokenGroupQuant>(problem.traits);
    if (grouped && one_in(random, 3)) {
      spread(buffers.input, buffers.input_view, 16 * between(random, 1, 5), std::byte{0x7F});
      spread(buffers.q, buffers.q_view, 16 * between(random, 1, 5), std::byte{0xA5});
    }
    const Kernel kernel = service_.get(descriptor, device_.ordinal);
    const std::int64_t hint = one_in(random, 2) ? 0 : between(random, 1, 64);
    const cli::Outputs found = launch_on_device(kernel, device_, buffers, hint);
    const reference::Target target{device_.arch, descriptor.math, device_.sm_count};
    run_reference(problem, target, buffers);
    const bool exact = reference::is_bit_exact(
        problem.traits, {device_.arch, kernel.info().math, device_.sm_count});
    const cli::Comparison comparison =
        compare(problem, buffers, buffers.q, buffers.s, found,
                exact ? cli::Tolerance::kNone : cli::Tolerance::kActivation);
    if (!comparison.equal()) {
      report(describe(index, problem, descriptor.math) + ": " + comparison.text());
      return;
    }
    ++(exact ? totals_.exact : totals_.tolerated);
  }

  void report(const std::string& text) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (++totals_.failed <= 20) {
      std::fprintf(stderr, "%s\n", text.c_str());
    }
  }

  KernelService& service_;
  const cli::OpenDevice& device_;
  const Options& options_;
  Totals& totals_;
  std::vector<Traits> space_;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--count") {
      options.count = value;
    } else if (name == "--seed") {
      options.seed = value;
    } else if (name == "--jobs") {
      options.jobs = static_cast<unsigned>(value);
    } else if (name == "--device") {
      options.device = static_cast<int>(value);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  const ServiceOptions service_options = ServiceOptions::from_environment();
  KernelService service(service_options);
  const driver::DriverApi& api = driver::DriverApi::get(service_options.cuda_driver.value_or(""));
  const driver::DeviceInfo& info = device_info(api, options.device);
  cli::OpenDevice device;
  device.api = &api;
  device.ordinal = options.device;
  device.arch = info.arch;
  device.sm_count = info.sm_count;
  Totals totals;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1U, options.jobs); ++i) {
      threads.emplace_back([&] { Worker(service, device, options, totals).run(); });
    }
  }
  std::printf("%s: %llu triples byte-equal, %llu within the SiLU tolerance, %llu compiled\n",
              info.name.c_str(), static_cast<unsigned long long>(totals.exact.load()),
              static_cast<unsigned long long>(totals.tolerated.load()),
              static_cast<unsigned long long>(service.stats().compiles));
  const std::uint64_t failed = totals.failed;
  std::printf("%llu passed, %llu failed, 0 skipped\n",
              static_cast<unsigned long long>(totals.exact + totals.tolerated),
              static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}

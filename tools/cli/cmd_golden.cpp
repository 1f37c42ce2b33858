// SPDX-License-Identifier: Apache-2.0
#include "src/io/golden_case.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/compare.hpp"
#include "tools/cli/device_choice.hpp"
#include "tools/cli/launch.hpp"
#include "tools/cli/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <regex>
#include <thread>

namespace quantjit::cli {
namespace {

constexpr int kJobsBesideDevice = 4;

enum class Verdict : std::uint8_t { kPassed, kFailed, kSkipped };

struct Outcome {
  Verdict verdict = Verdict::kFailed;
  std::string reason;           ///< why it failed or was skipped
  std::uint64_t tolerated = 0;  ///< elements that differ within the tolerance
};

/// Runs cases on one device, or through the CPU reference. Thread safe.
class Runner {
 public:
  Runner(ServiceOptions options, std::optional<OpenDevice> device)
      : service_(std::move(options)), device_(std::move(device)) {}

  [[nodiscard]] Outcome run(const io::GoldenCase& recorded) noexcept {
    try {
      return device_ ? run_on_device(recorded) : run_reference(recorded);
    } catch (const NotImplemented& error) {
      return {Verdict::kSkipped, error.what(), 0};
    } catch (const std::exception& error) {
      return {Verdict::kFailed, error.what(), 0};
    }
  }

 private:
  static Outcome run_reference(const io::GoldenCase& recorded) {
    const io::ProblemBuffers buffers = io::make_buffers(recorded.problem);
    io::run_reference(recorded.problem, io::golden_target(recorded), buffers);
    const auto mismatch = io::golden_mismatch(recorded, buffers.q, buffers.s);
    return mismatch ? Outcome{Verdict::kFailed, *mismatch, 0} : Outcome{Verdict::kPassed, {}, 0};
  }

  Outcome run_on_device(const io::GoldenCase& recorded) {
    const Kernel kernel =
        service_.get(Descriptor{recorded.problem.traits, recorded.math}, device_->ordinal);
    const io::ProblemBuffers buffers = io::make_buffers(recorded.problem);
    const Outputs outputs = launch_on_device(kernel, *device_, buffers);
    const auto mismatch = io::golden_mismatch(recorded, outputs.q, outputs.s);
    if (!mismatch) {
      return {Verdict::kPassed, {}, 0};
    }
    return explain_mismatch(recorded, buffers, outputs, *mismatch);
  }

  /// Looks at bytes that were not recorded, only their hash: the reference makes them again.
  Outcome explain_mismatch(const io::GoldenCase& recorded, const io::ProblemBuffers& buffers,
                           const Outputs& outputs, const std::string& mismatch) {
    const reference::Target target = io::golden_target(recorded);
    io::run_reference(recorded.problem, target, buffers);
    if (io::golden_mismatch(recorded, buffers.q, buffers.s)) {
      return {Verdict::kFailed, mismatch + " (the CPU reference differs from it too)", 0};
    }
    const Comparison comparison = compare(recorded.problem, buffers, buffers.q, buffers.s, outputs,
                                          tolerance_for(recorded.problem.traits, target, *device_));
    if (comparison.equal()) {
      return {Verdict::kPassed, {}, comparison.tolerated};
    }
    return {Verdict::kFailed, comparison.text(), 0};
  }

  KernelService service_;
  std::optional<OpenDevice> device_;
};

/// Outcomes of all cases, each handed over as soon as those before it are there.
class OutcomeQueue {
 public:
  explicit OutcomeQueue(std::size_t count) : outcomes_(count) {}

  void put(std::size_t index, Outcome outcome) {
    {
      const std::lock_guard lock(mutex_);
      outcomes_[index] = std::move(outcome);
    }
    ready_.notify_one();
  }

  [[nodiscard]] Outcome take(std::size_t index) {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return outcomes_[index].has_value(); });
    return std::move(*outcomes_[index]);
  }

 private:
  std::mutex mutex_;  // guards outcomes_
  std::condition_variable ready_;
  std::vector<std::optional<Outcome>> outcomes_;
};

struct Summary {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t skipped = 0;
  std::size_t tolerated_cases = 0;
  Value::Array failures;
  Value::Array skips;

  void add(Console& console, const std::string& name, const Outcome& outcome) {
    if (outcome.verdict == Verdict::kPassed) {
      ++passed;
      tolerated_cases += outcome.tolerated != 0 ? 1 : 0;
      return;
    }
    const bool was_skipped = outcome.verdict == Verdict::kSkipped;
    ++(was_skipped ? skipped : failed);
    (was_skipped ? skips : failures)
        .push_back(Value::Object{{"name", name}, {"reason", outcome.reason}});
    console.line(
        fmt::format("{} {}: {}", was_skipped ? "skipped" : "FAILED", name, outcome.reason));
  }
};

std::vector<io::GoldenCase> select_cases(const GoldenOptions& options) {
  std::regex filter;
  try {
    filter = std::regex(options.filter, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    throw InvalidArgument("--filter", "\"" + options.filter + "\"",
                          std::string("it must be a regular expression: ") + error.what());
  }
  std::vector<io::GoldenCase> cases;
  try {
    cases = io::read_golden_cases(options.file);
  } catch (const InvalidArgument& error) {
    throw CommandFailure(error.what());
  }
  std::erase_if(cases, [&](const io::GoldenCase& recorded) {
    return !std::regex_search(recorded.name, filter);
  });
  return cases;
}

std::size_t job_count(const GoldenOptions& options, const std::optional<OpenDevice>& device,
                      std::size_t cases) {
  const int machine = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int jobs = options.jobs > 0 ? options.jobs
                   : device         ? std::min(machine, kJobsBesideDevice)
                                    : machine;
  return std::min(static_cast<std::size_t>(jobs), cases);
}

Summary run_all(Console& console, Runner& runner, const std::vector<io::GoldenCase>& cases,
                std::size_t jobs) {
  OutcomeQueue outcomes(cases.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> workers;
  for (std::size_t i = 0; i < jobs; ++i) {
    workers.emplace_back([&] {
      for (std::size_t index = next++; index < cases.size(); index = next++) {
        outcomes.put(index, runner.run(cases[index]));
      }
    });
  }
  Summary summary;
  for (std::size_t index = 0; index < cases.size(); ++index) {
    console.progress(fmt::format("{}/{} {}", index, cases.size(), cases[index].name));
    summary.add(console, cases[index].name, outcomes.take(index));
  }
  return summary;
}

}  // namespace

int execute(Context& context, const GoldenOptions& options) {
  ServiceOptions service_options = context.service_options();
  Console& console = context.console;
  const DeviceChoice choice = parse_device_choice(options.device);
  const std::vector<io::GoldenCase> cases = select_cases(options);
  std::optional<OpenDevice> device;
  if (choice.kind != DeviceKind::kCpu) {
    device = open_device(choice, service_options);
  }
  if (device && (device->arch != Arch{9, 0, 'a'} || device->sm_count != 132)) {
    console.message(
        fmt::format("the cases were recorded for sm_90a with 132 SMs; this device is {} with {}",
                    device->arch.to_string(), device->sm_count));
  }
  const Stopwatch watch;
  Runner runner(std::move(service_options), device);
  Summary summary = run_all(console, runner, cases, job_count(options, device, cases.size()));
  if (summary.tolerated_cases != 0) {
    console.line(fmt::format("{} of the passed cases differ within the tolerance: {}",
                             summary.tolerated_cases, to_string(Tolerance::kActivation)));
  }
  const auto work = device ? simulated_work(*device) : std::nullopt;
  if (work) {
    console.line(
        fmt::format("simulated {} lane instructions in {:.1f} s, {:.0f} million a second",
                    work->lane_instructions, watch.milliseconds() / 1e3,
                    static_cast<double>(work->lane_instructions) / watch.milliseconds() / 1e3));
  }
  console.line(fmt::format("{} passed, {} failed, {} skipped", summary.passed, summary.failed,
                           summary.skipped));
  console.document(Value::Object{{"file", options.file},
                                 {"device", device ? device->label : std::string("cpu")},
                                 {"passed", summary.passed},
                                 {"failed", summary.failed},
                                 {"skipped", summary.skipped},
                                 {"within_tolerance", summary.tolerated_cases},
                                 {"failures", std::move(summary.failures)},
                                 {"skips", std::move(summary.skips)},
                                 {"seconds", watch.milliseconds() / 1e3}});
  if (cases.empty()) {
    console.message("no case of " + options.file + " matches the filter");
    return 1;
  }
  return summary.failed == 0 ? 0 : 1;
}

}  // namespace quantjit::cli

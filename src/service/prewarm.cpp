// SPDX-License-Identifier: Apache-2.0
// Prewarming: a list of kernels, looked up and compiled side by side.
#include "src/base/resources.hpp"
#include "src/driver/device.hpp"
#include "src/service/body.hpp"
#include "src/service/prewarm_jobs.hpp"
#include "src/traits/kernel_identity.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <random>
#include <thread>
#include <utility>

namespace quantjit {
namespace service {

// Measured with NVRTC 13.0: libnvrtc and its companion take 70 MiB, each compile beside others
// takes 11 MiB; twice that for compilers and kernels of other versions.
constexpr std::uint64_t kCompilerBytes = std::uint64_t{96} << 20U;
constexpr std::uint64_t kCompileBytes = std::uint64_t{24} << 20U;

int limit_jobs(int wanted, std::optional<std::uint64_t> memory_bytes) {
  if (!memory_bytes) {
    return wanted;
  }
  const std::uint64_t left = *memory_bytes - std::min(*memory_bytes, kCompilerBytes);
  return static_cast<int>(
      std::clamp<std::uint64_t>(left / kCompileBytes, 1, static_cast<std::uint64_t>(wanted)));
}

namespace {

/// One distinct pair of the list.
struct Unit {
  Descriptor descriptor;
  Arch arch;
  std::vector<int> devices;  ///< to load on
};

enum class Outcome : std::uint8_t { kPending, kHit, kCompiled, kFailed };

/// Collects distinct pairs in order of appearance.
class Units {
 public:
  explicit Units(MathMode preference) : preference_(preference) {}

  /// Throws: InvalidArgument for a descriptor that is not valid.
  Unit& add(const Descriptor& descriptor, const Arch& arch) {
    validate(descriptor.traits);
    const auto [place, inserted] =
        places_.try_emplace(traits::identify(descriptor, arch, preference_), units_.size());
    if (inserted) {
      units_.push_back({descriptor, arch, {}});
    }
    return units_[place->second];
  }

  [[nodiscard]] std::vector<Unit> take() { return std::move(units_); }

 private:
  MathMode preference_;
  std::map<traits::KernelIdentity, std::size_t> places_;
  std::vector<Unit> units_;
};

/// One prewarm. Threads take units by number; each unit's results are its own.
class PrewarmRun {
 public:
  PrewarmRun(KernelService::Body& body, const PrewarmOptions& options, std::vector<Unit> units)
      : body_(body),
        options_(options),
        units_(std::move(units)),
        outcomes_(units_.size(), Outcome::kPending),
        failures_(units_.size()),
        begin_(std::chrono::steady_clock::now()) {
    progress_.requested = units_.size();
  }

  PrewarmReport run() {
    report_progress();
    const int wanted = options_.jobs > 0 ? options_.jobs : base::usable_cores();
    const int jobs =
        limit_jobs(wanted, options_.memory_limit > 0 ? std::optional(options_.memory_limit)
                                                     : base::available_memory());
    if (options_.devices.empty()) {
      for_each_pending(wanted, [this](std::size_t i) { look_up(i); });
      for_each_pending(jobs, [this](std::size_t i) { compile(i); });
    } else {
      for_each_pending(jobs, [this](std::size_t i) { prepare(i); });
    }
    if (thrown_) {
      std::rethrow_exception(thrown_);
    }
    return make_report(jobs);
  }

 private:
  /// Calls `work` for every unit that is pending now, on several threads.
  template <typename Work>
  void for_each_pending(int threads, Work work) {
    std::vector<std::size_t> pending;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (outcomes_[i] == Outcome::kPending) {
        pending.push_back(i);
      }
    }
    if (body_.remote != nullptr && body_.remote->has_leases() && !pending.empty()) {
      // A fleet that prewarms one list shares the work if its machines begin at different places.
      const std::size_t first = std::random_device()() % pending.size();
      std::rotate(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(first),
                  pending.end());
    }
    std::atomic<std::size_t> next{0};
    const auto loop = [&] {
      for (std::size_t turn = next++; turn < pending.size() && !stopped(); turn = next++) {
        work(pending[turn]);
      }
    };
    const std::size_t others =
        std::min(static_cast<std::size_t>(threads), pending.size()) - (pending.empty() ? 0U : 1U);
    std::vector<std::jthread> helpers;
    try {
      for (std::size_t i = 0; i < others; ++i) {
        helpers.emplace_back(loop);
      }
    } catch (const std::system_error&) {
      // Fewer threads than wanted do the same work.
    }
    loop();
  }

  bool stopped() const {
    return failed_callback_.load(std::memory_order_relaxed) ||
           (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed));
  }

  /// A hit only if its entry is whole: an entry that is there and damaged would be a miss later,
  /// and reading and hashing one costs about a tenth of a millisecond.
  void look_up(std::size_t i) {
    guarded(i, [&]() -> std::optional<Outcome> {
      const Request request = body_.request_for(units_[i].descriptor, units_[i].arch);
      if (body_.find_image(request.id) != nullptr || body_.lookup(request) != nullptr) {
        return Outcome::kHit;
      }
      if (!body_.may_compile() && !body_.may_ask_remote()) {
        throw SealedMiss(request.traits_text + " for " + request.arch.to_string() +
                         " is in no cache tier, and compiling is not allowed");
      }
      return std::nullopt;
    });
  }

  void compile(std::size_t i) {
    guarded(i, [&]() -> std::optional<Outcome> {
      const Request request = body_.request_for(units_[i].descriptor, units_[i].arch);
      const Fetched fetched = body_.fetch(request);
      wait_for_remote();
      if (!fetched.image->info.path.empty()) {
        const std::unique_lock lock(body_.images_mutex);
        body_.images.erase(request.id);  // it is on disk: a long list does not fill the memory
      }
      return to_outcome(fetched.source);
    });
  }

  /// Fetches what the unit's devices need, and loads it there.
  void prepare(std::size_t i) {
    guarded(i, [&]() -> std::optional<Outcome> {
      const Unit& unit = units_[i];
      const Outcome outcome =
          to_outcome(body_.fetch_for_device(unit.descriptor, body_.driver(), unit.arch).source);
      wait_for_remote();
      for (const int device : unit.devices) {
        body_.load(unit.descriptor, device, nullptr);
        loaded_.fetch_add(1, std::memory_order_relaxed);
      }
      return outcome;
    });
  }

  /// A list may be longer than the queue of what remote tiers get: it is stored whole all the same.
  void wait_for_remote() {
    if (body_.remote != nullptr) {
      body_.remote->wait_for_room();
    }
  }

  static Outcome to_outcome(ImageSource source) {
    return source == ImageSource::kCompiled ? Outcome::kCompiled : Outcome::kHit;
  }

  /// Runs one step of a unit: its outcome, none yet, or an exception that becomes its failure.
  template <typename Step>
  void guarded(std::size_t i, Step step) {
    std::optional<Outcome> outcome = Outcome::kFailed;
    PrewarmReport::Failure& failure = failures_[i];
    try {
      outcome = step();
    } catch (const CompileError& error) {
      failure.error = error.what();
      failure.log = error.details().log;
    } catch (const std::exception& error) {
      failure.error = error.what();
    }
    if (outcome) {
      outcomes_[i] = *outcome;
      count(*outcome);
    }
  }

  void count(Outcome outcome) {
    const std::lock_guard lock(mutex_);
    ++(outcome == Outcome::kHit        ? progress_.hits
       : outcome == Outcome::kCompiled ? progress_.compiled
                                       : progress_.failed);
    report_progress();
  }

  /// Under the lock, or before there are other threads.
  void report_progress() {
    if (!options_.progress || thrown_) {
      return;
    }
    progress_.seconds = seconds();
    try {
      options_.progress(progress_);
    } catch (...) {  // ends the run, which throws it
      thrown_ = std::current_exception();
      failed_callback_.store(true, std::memory_order_relaxed);
    }
  }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  PrewarmReport make_report(int jobs) {
    PrewarmReport report;
    report.requested = units_.size();
    report.hits = progress_.hits;
    report.compiled = progress_.compiled;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (outcomes_[i] == Outcome::kFailed) {
        PrewarmReport::Failure& failure = report.failures.emplace_back(std::move(failures_[i]));
        failure.traits = to_text(units_[i].descriptor);
        failure.arch = units_[i].arch;
      }
    }
    report.loaded = loaded_;
    report.jobs = jobs;
    report.cancelled = progress_.done() < units_.size();
    report.seconds = seconds();
    return report;
  }

  KernelService::Body& body_;
  const PrewarmOptions& options_;
  const std::vector<Unit> units_;
  std::vector<Outcome> outcomes_;
  std::vector<PrewarmReport::Failure> failures_;
  const std::chrono::steady_clock::time_point begin_;
  std::atomic<std::size_t> loaded_{0};
  std::atomic<bool> failed_callback_{false};
  std::mutex mutex_;  // guards progress_ and thrown_ while threads run; held during the callback
  PrewarmProgress progress_;
  std::exception_ptr thrown_;
};

std::vector<Unit> to_units(KernelService::Body& body, const std::vector<PrewarmItem>& items,
                           const std::vector<int>& devices) {
  Units units(body.options.math);
  if (devices.empty()) {
    for (const PrewarmItem& item : items) {
      units.add(item.descriptor, item.arch);
    }
    return units.take();
  }
  const driver::DriverApi& api = body.driver();
  for (const PrewarmItem& item : items) {
    for (const int device : devices) {
      Unit& unit = units.add(item.descriptor, device_info(api, device).arch);
      if (std::find(unit.devices.begin(), unit.devices.end(), device) == unit.devices.end()) {
        unit.devices.push_back(device);
      }
    }
  }
  return units.take();
}

}  // namespace
}  // namespace service

PrewarmReport KernelService::prewarm(const std::vector<PrewarmItem>& items,
                                     const PrewarmOptions& options) {
  if (options.jobs < 0) {
    throw InvalidArgument("jobs", std::to_string(options.jobs), "it must not be negative");
  }
  return service::PrewarmRun(*body_, options, service::to_units(*body_, items, options.devices))
      .run();
}

PrewarmReport KernelService::replay(const std::string& path, const PrewarmOptions& options) {
  return prewarm(read_trace(path), options);
}

}  // namespace quantjit

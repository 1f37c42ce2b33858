// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/prewarm_pool.hpp"

#include "tools/cli/context.hpp"
#include "tools/cli/frame.hpp"
#include "tools/cli/prewarm_worker.hpp"
#include "tools/cli/worker_process.hpp"

#include <quantjit/cache.hpp>

#include <algorithm>
#include <optional>
#include <poll.h>
#include <utility>

namespace quantjit::cli {
namespace {

constexpr int kWakeMs = 200;  // a signal may come just before the wait
constexpr int kMostFalseStarts = 3;

struct Worker {
  WorkerProcess process;
  bool ready = false;               ///< it has greeted
  std::optional<std::size_t> item;  ///< what it works on
};

class Pool {
 public:
  Pool(const std::vector<PrewarmItem>& items, const ServiceOptions& options,
       const std::function<void(const PrewarmProgress&)>& progress, const std::atomic<bool>& cancel,
       RemoteShare& share)
      : items_(items),
        options_(options),
        progress_(progress),
        cancel_(cancel),
        share_(share),
        failures_(items.size()) {
    report_.requested = items.size();
  }

  PrewarmReport run(int jobs) {
    report_.jobs = jobs;
    tell();
    for (int i = 0; i < jobs; ++i) {
      add_worker();
    }
    while (more() || working()) {
      hand_out();
      wait();
    }
    workers_.clear();
    for (auto& failure : failures_) {
      if (failure) {
        report_.failures.push_back(std::move(*failure));
      }
    }
    report_.cancelled = failed_ + report_.hits + report_.compiled < items_.size();
    report_.seconds = watch_.milliseconds() / 1e3;
    return std::move(report_);
  }

 private:
  [[nodiscard]] bool more() const {
    return next_ < items_.size() && !cancel_.load(std::memory_order_acquire);
  }

  [[nodiscard]] bool working() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return worker.item.has_value(); });
  }

  void add_worker() {
    try {
      workers_.push_back({WorkerProcess(kWorkerCommand), false, std::nullopt});
    } catch (const CommandFailure&) {
      if (workers_.empty()) {
        throw;
      }
      // Fewer do the same work.
    }
  }

  void hand_out() {
    for (Worker& worker : workers_) {
      if (!worker.ready || worker.item || !more()) {
        continue;
      }
      const PrewarmItem& item = items_[next_];
      worker.item = next_++;
      // One that has gone meanwhile is seen when its output is read.
      static_cast<void>(write_frame(worker.process.input(), encode_request(item)));
    }
  }

  void wait() {
    std::vector<pollfd> waits;
    for (const Worker& worker : workers_) {
      waits.push_back({worker.process.output(), POLLIN, 0});
    }
    if (::poll(waits.data(), waits.size(), kWakeMs) <= 0) {
      return;
    }
    for (std::size_t i = waits.size(); i-- > 0;) {
      if (waits[i].revents != 0) {
        serve(i);
      }
    }
  }

  void serve(std::size_t index) {
    Worker& worker = workers_[index];
    const std::optional<std::string> message = read_frame(worker.process.output());
    if (!message) {
      bury(index);
    } else if (!worker.ready) {
      worker.ready = true;
      false_starts_ = 0;
    } else if (worker.item) {
      take(*worker.item, decode_reply(*message));
      worker.item.reset();
    }
  }

  void take(std::size_t item, WorkerReply reply) {
    share_ += reply.share;
    switch (reply.outcome) {
      case WorkerOutcome::kHit: ++report_.hits; break;
      case WorkerOutcome::kCompiled: ++report_.compiled; break;
      case WorkerOutcome::kFailed: fail(item, std::move(reply.error), std::move(reply.log)); break;
    }
    tell();
  }

  void fail(std::size_t item, std::string error, std::string log) {
    ++failed_;
    failures_[item] = PrewarmReport::Failure{to_text(items_[item].descriptor), items_[item].arch,
                                             std::move(error), std::move(log)};
  }

  void bury(std::size_t index) {
    Worker& worker = workers_[index];
    const std::optional<std::size_t> item = worker.item;
    const bool began = worker.ready;
    const std::string end = worker.process.end();
    // WorkerProcess is moved by construction only, so the vector cannot erase in its middle.
    std::vector<Worker> others;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (i != index) {
        others.push_back(std::move(workers_[i]));
      }
    }
    workers_.swap(others);
    if (item) {
      CacheAdmin(options_).release_dead_leases();
      fail(*item, "the process that compiled it " + end, {});
      tell();
    }
    if (!began && ++false_starts_ >= kMostFalseStarts) {
      throw CommandFailure("worker processes do not start: the last one " + end);
    }
    if (more()) {
      add_worker();
    }
  }

  void tell() {
    progress_(
        {report_.requested, report_.hits, report_.compiled, failed_, watch_.milliseconds() / 1e3});
  }

  const std::vector<PrewarmItem>& items_;
  const ServiceOptions& options_;
  const std::function<void(const PrewarmProgress&)>& progress_;
  const std::atomic<bool>& cancel_;
  RemoteShare& share_;
  std::vector<Worker> workers_;
  std::vector<std::optional<PrewarmReport::Failure>> failures_;  ///< by item
  std::size_t next_ = 0;
  std::size_t failed_ = 0;
  int false_starts_ = 0;
  PrewarmReport report_;
  Stopwatch watch_;
};

}  // namespace

PrewarmReport prewarm_isolated(const std::vector<PrewarmItem>& items, const ServiceOptions& options,
                               int jobs,
                               const std::function<void(const PrewarmProgress&)>& progress,
                               const std::atomic<bool>& cancel, RemoteShare& share) {
  return Pool(items, options, progress, cancel, share)
      .run(std::clamp(jobs, 1, static_cast<int>(std::max<std::size_t>(1, items.size()))));
}

}  // namespace quantjit::cli

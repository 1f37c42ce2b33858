// SPDX-License-Identifier: Apache-2.0
// Requests to answers: what is stored is answered at once, what is not is compiled in its turn.
#pragma once

#include "src/serve/compile_queue.hpp"
#include "src/serve/counters.hpp"
#include "src/serve/options.hpp"
#include "src/serve/reply.hpp"

#include <quantjit/service.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace quantjit::serve {

struct Job;

/// Thread safe. No member waits for a compile or for a disk.
class Dispatcher {
 public:
  /// The service and the counters must outlive it.
  Dispatcher(KernelService& service, const Options& options, Counters& counters);
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  ~Dispatcher();

  /// Answers POST /v1/compile with this body.
  void compile(std::string body, Done done);
  /// Answers GET /v1/entries/KEY.
  void read(std::string key, Done done);

  [[nodiscard]] CompileQueue::Load load() const { return queue_.load(); }

  [[nodiscard]] int jobs() const { return jobs_; }

  /// Answers everybody who waits, and everybody who comes.
  void close(const Reply& reply) { queue_.close(reply); }

 private:
  /// Runs on a thread that looks things up.
  void submit(std::function<void()> task);
  void look_up(const std::string& body, const Done& done);
  Job make_job(const std::string& body);
  void run_lookups();

  KernelService& service_;
  const Options& options_;
  Counters& counters_;
  const int jobs_;
  CompileQueue queue_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> lookups_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace quantjit::serve

// SPDX-License-Identifier: Apache-2.0
// A few threads for requests that nobody waits for at once.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace quantjit::service {

/// Whether a task is to be done, or only to be told that it never will be.
enum class Turn : std::uint8_t { kRun, kAbandoned };

/// Runs tasks in the order of their submission, some at a time. Threads are started as they are
/// needed and wait between tasks. Thread safe.
class WorkerPool {
 public:
  /// Must not throw. Called once: on a thread of the pool, or abandoned by the destructor's thread.
  using Task = std::function<void(Turn)>;

  /// @param most_threads at least 1
  explicit WorkerPool(std::size_t most_threads) : most_threads_(most_threads) {}

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  /// Abandons the tasks that wait, then waits for those that run.
  ~WorkerPool();

  /// Throws: std::system_error if there is no thread at all and none can be started.
  void submit(Task task);

 private:
  void work();

  const std::size_t most_threads_;
  std::mutex mutex_;  // guards everything below; never held while a task runs
  std::condition_variable changed_;
  std::deque<Task> waiting_;
  std::size_t idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace quantjit::service

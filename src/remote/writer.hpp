// SPDX-License-Identifier: Apache-2.0
// One thread that does in the background what nobody shall wait for, in order and within bounds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace quantjit::remote {

struct QueueLimits {
  std::size_t tasks = 256;
  std::size_t bytes = std::size_t{64} << 20;
};

/// When a task is called.
struct TaskTurn {
  bool abandoned = false;  ///< the writer is closed: tidy up, and take no time
  /// The task shall end by then; far away unless the writer is being closed.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

/// A bounded queue with one thread, which is started by the first task. Thread safe. In a child
/// that was forked after that it does nothing: its thread is the parent's.
class Writer {
 public:
  /// Called once, from the writer's thread or, if abandoned, from the one that closes. Throws
  /// nothing.
  using Task = std::function<void(const TaskTurn&)>;

  explicit Writer(QueueLimits limits = {});
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  /// close() at once.
  ~Writer();

  /// Queues a task. False if it would exceed the limits, no thread can be had, or the writer is
  /// closed: then the task is destroyed without being called.
  /// @param bytes memory that it holds
  bool submit(std::size_t bytes, Task task);
  /// Waits until all that was submitted before is done. False if that took longer.
  bool flush(std::chrono::milliseconds timeout);
  /// Waits until half of the queue is free, for whoever would fill it otherwise.
  void wait_for_room();
  /// Lets the queue run dry, at most for `timeout`; abandons what is queued then, waits for the
  /// task under way, and takes no more. False if something was abandoned.
  bool close(std::chrono::milliseconds timeout);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace quantjit::remote

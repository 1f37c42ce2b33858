// SPDX-License-Identifier: Apache-2.0
#include "src/remote/writer.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace quantjit::remote {

class Writer::State {
 public:
  explicit State(QueueLimits limits) : limits_(limits) {}

  /// Whether this is a copy in a forked child of something that has a thread in its parent. No lock
  /// is taken: the thread, which is not here, may hold it.
  [[nodiscard]] bool belongs_to_parent() const {
    return owner_.load() != 0 && owner_.load() != ::getpid();
  }

  bool submit(std::size_t bytes, Task&& task);
  bool flush(std::chrono::steady_clock::time_point deadline);
  bool close(std::chrono::steady_clock::time_point deadline);
  void wait_for_room();

 private:
  struct Queued {
    Task task;
    std::size_t bytes = 0;
  };

  void run();
  bool wait_until_finished(std::unique_lock<std::mutex>& lock, std::uint64_t count,
                           std::chrono::steady_clock::time_point deadline);

  const QueueLimits limits_;
  std::atomic<pid_t> owner_{0};  // of the thread
  std::mutex mutex_;             // guards all that follows; not held while a task runs
  std::condition_variable changed_;
  std::condition_variable finished_one_;
  std::deque<Queued> queue_;
  std::size_t bytes_ = 0;  // of the queue and of the task under way
  std::uint64_t submitted_ = 0;
  std::uint64_t finished_ = 0;
  bool closed_ = false;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  std::thread thread_;
};

bool Writer::State::submit(std::size_t bytes, Task&& task) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || queue_.size() >= limits_.tasks || bytes > limits_.bytes - bytes_) {
      return false;
    }
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { run(); });
      } catch (const std::system_error&) {
        return false;
      }
      owner_ = ::getpid();
    }
    queue_.push_back({std::move(task), bytes});
    bytes_ += bytes;
    ++submitted_;
  }
  changed_.notify_one();
  return true;
}

void Writer::State::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    if (queue_.empty()) {
      return;
    }
    Queued next = std::move(queue_.front());
    queue_.pop_front();
    const TaskTurn turn{.abandoned = false, .deadline = deadline_};
    lock.unlock();
    next.task(turn);
    next.task = nullptr;  // what it holds is gone before it counts as done
    lock.lock();
    bytes_ -= next.bytes;
    ++finished_;
    finished_one_.notify_all();
  }
}

bool Writer::State::wait_until_finished(std::unique_lock<std::mutex>& lock, std::uint64_t count,
                                        std::chrono::steady_clock::time_point deadline) {
  return finished_one_.wait_until(lock, deadline, [&] { return finished_ >= count; });
}

bool Writer::State::flush(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return wait_until_finished(lock, submitted_, deadline);
}

void Writer::State::wait_for_room() {
  std::unique_lock lock(mutex_);
  finished_one_.wait(lock, [this] {
    return closed_ || (queue_.size() <= limits_.tasks / 2 && bytes_ <= limits_.bytes / 2);
  });
}

bool Writer::State::close(std::chrono::steady_clock::time_point deadline) {
  std::deque<Queued> abandoned;
  {
    std::unique_lock lock(mutex_);
    closed_ = true;
    deadline_ = deadline;
    wait_until_finished(lock, submitted_, deadline);
    abandoned.swap(queue_);
  }
  changed_.notify_all();
  for (const Queued& queued : abandoned) {
    queued.task({.abandoned = true, .deadline = deadline});
  }
  if (thread_.joinable()) {
    thread_.join();
  }
  return abandoned.empty();
}

namespace {

std::chrono::steady_clock::time_point after(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kForEver = std::chrono::hours(24 * 365);
  return std::chrono::steady_clock::now() +
         std::clamp(timeout, std::chrono::milliseconds(0), kForEver);
}

}  // namespace

Writer::Writer(QueueLimits limits) : state_(std::make_unique<State>(limits)) {}

Writer::~Writer() {
  if (state_->belongs_to_parent()) {
    // It holds a thread that cannot be joined here and locks that may never be free.
    static_cast<void>(state_.release());
    return;
  }
  state_->close(after(std::chrono::milliseconds(0)));
}

bool Writer::submit(std::size_t bytes, Task task) {
  return !state_->belongs_to_parent() && state_->submit(bytes, std::move(task));
}

bool Writer::flush(std::chrono::milliseconds timeout) {
  return state_->belongs_to_parent() || state_->flush(after(timeout));
}

void Writer::wait_for_room() {
  if (!state_->belongs_to_parent()) {
    state_->wait_for_room();
  }
}

bool Writer::close(std::chrono::milliseconds timeout) {
  return state_->belongs_to_parent() || state_->close(after(timeout));
}

}  // namespace quantjit::remote

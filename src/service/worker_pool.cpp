// SPDX-License-Identifier: Apache-2.0
#include "src/service/worker_pool.hpp"

#include <system_error>
#include <utility>

namespace quantjit::service {

WorkerPool::~WorkerPool() {
  std::deque<Task> abandoned;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    abandoned.swap(waiting_);
  }
  changed_.notify_all();
  for (const Task& task : abandoned) {
    task(Turn::kAbandoned);
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void WorkerPool::submit(Task task) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(task));
    if (waiting_.size() > idle_ && threads_.size() < most_threads_) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        if (threads_.empty()) {
          waiting_.pop_back();
          throw;
        }
      }
    }
  }
  changed_.notify_one();
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    --idle_;
    if (ending_) {
      return;
    }
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task(Turn::kRun);
    task = nullptr;  // what it holds is gone before the next one is waited for
    lock.lock();
  }
}

}  // namespace quantjit::service

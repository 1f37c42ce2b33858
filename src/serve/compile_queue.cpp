// SPDX-License-Identifier: Apache-2.0
#include "src/serve/compile_queue.hpp"

#include <algorithm>
#include <utility>

namespace quantjit::serve {

CompileQueue::CompileQueue(int jobs, std::size_t limit) : limit_(limit) {
  for (int i = 0; i < jobs; ++i) {
    threads_.emplace_back([this] { run(); });
  }
}

CompileQueue::~CompileQueue() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

CompileQueue::Turn CompileQueue::submit(const std::string& key, Waits waits, Work work, Done done) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      return Turn::kClosed;
    }
    if (const auto found = flights_.find(key); found != flights_.end()) {
      if (waits == Waits::kForNobody && found->second->waits == Waits::kForOthers) {
        return Turn::kFull;
      }
      found->second->passengers.push_back(std::move(done));
      return Turn::kJoined;
    }
    if (waiting_.size() >= limit_ && running_ >= threads_.size()) {
      return Turn::kFull;
    }
    if (waits == Waits::kForNobody && waiting_.size() + running_ >= threads_.size() &&
        any_waits_for_others()) {
      return Turn::kFull;
    }
    auto flight = std::make_shared<Flight>(Flight{key, waits, std::move(work), {}});
    flight->passengers.push_back(std::move(done));
    flights_.emplace(key, flight);
    waiting_.push_back(std::move(flight));
  }
  changed_.notify_one();
  return Turn::kNew;
}

bool CompileQueue::any_waits_for_others() const {
  return std::any_of(flights_.begin(), flights_.end(),
                     [](const auto& flight) { return flight.second->waits == Waits::kForOthers; });
}

void CompileQueue::close(const Reply& reply) {
  std::vector<Done> left;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    waiting_.clear();
    for (auto& [key, flight] : flights_) {
      for (Done& done : flight->passengers) {
        left.push_back(std::move(done));
      }
      flight->passengers.clear();
    }
    flights_.clear();
  }
  for (const Done& done : left) {
    done(reply);
  }
}

CompileQueue::Load CompileQueue::load() const {
  const std::lock_guard lock(mutex_);
  return {waiting_.size(), running_};
}

void CompileQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (ending_) {
      return;
    }
    const std::shared_ptr<Flight> flight = std::move(waiting_.front());
    waiting_.pop_front();
    ++running_;
    lock.unlock();
    const Reply reply = flight->work();
    flight->work = nullptr;
    lock.lock();
    --running_;
    // Close may have dropped it; another flight of this key may be there then.
    if (const auto found = flights_.find(flight->key);
        found != flights_.end() && found->second == flight) {
      flights_.erase(found);
    }
    const std::vector<Done> passengers = std::move(flight->passengers);
    lock.unlock();
    for (const Done& done : passengers) {
      done(reply);
    }
    lock.lock();
  }
}

}  // namespace quantjit::serve

// SPDX-License-Identifier: Apache-2.0
#include "src/remote/lease.hpp"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace quantjit::remote {

class FleetLease::State {
 public:
  State(RemoteTier& tier, Name name, std::string token, const FleetTimings& timings)
      : tier_(tier), name_(std::move(name)), token_(std::move(token)), timings_(timings) {
    if (timings_.renew_every.count() > 0) {
      try {
        thread_ = std::thread([this] { run(); });
      } catch (const std::system_error&) {
        // Without a thread it runs out if the compile is long, which costs a compile elsewhere.
      }
    }
  }

  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ~State() {
    if (thread_.joinable()) {
      {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
      }
      wake_.notify_all();
      thread_.join();
    }
  }

  [[nodiscard]] bool belongs_to_parent() const { return creator_ != ::getpid(); }

  /// An answer that does not come says nothing: it is tried again.
  bool renew() { return tier_.renew(name_, timings_.duration, token_) != LeaseReply::kHeld; }

  void give_back() { tier_.release(name_, token_); }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    bool held = true;
    while (held && !wake_.wait_for(lock, timings_.renew_every, [this] { return stopping_; })) {
      lock.unlock();
      held = renew();
      lock.lock();
    }
  }

  RemoteTier& tier_;
  const Name name_;
  const std::string token_;
  const FleetTimings timings_;
  const pid_t creator_ = ::getpid();
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

FleetLease::FleetLease() noexcept = default;

FleetLease::FleetLease(RemoteTier& tier, Name name, std::string token, const FleetTimings& timings)
    : state_(std::make_unique<State>(tier, std::move(name), std::move(token), timings)) {}

FleetLease::FleetLease(FleetLease&&) noexcept = default;

FleetLease& FleetLease::operator=(FleetLease&& other) noexcept {
  if (this != &other) {
    release();
    state_ = std::move(other.state_);
  }
  return *this;
}

FleetLease::~FleetLease() {
  release();
}

bool FleetLease::renew() {
  return state_ != nullptr && !state_->belongs_to_parent() && state_->renew();
}

void FleetLease::release() noexcept {
  if (state_ == nullptr) {
    return;
  }
  if (state_->belongs_to_parent()) {
    static_cast<void>(state_.release());  // its thread and its waiter are not here
    return;
  }
  State* const state = state_.get();
  const std::unique_ptr<State> ending = std::move(state_);
  state->give_back();
}

void FleetLease::forget() noexcept {
  if (state_ != nullptr && state_->belongs_to_parent()) {
    static_cast<void>(state_.release());
  }
  state_.reset();
}

}  // namespace quantjit::remote

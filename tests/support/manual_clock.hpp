// SPDX-License-Identifier: Apache-2.0
// A clock that stands still until it is moved, or someone sleeps on it.
#pragma once

#include "cache/clock.hpp"

#include <mutex>

namespace quantjit::cache {

class ManualClock final : public Clock {
 public:
  std::chrono::nanoseconds since_boot() override {
    const std::lock_guard lock(mutex_);
    return since_boot_;
  }

  std::chrono::nanoseconds since_epoch() override {
    const std::lock_guard lock(mutex_);
    return since_epoch_;
  }

  void sleep(std::chrono::nanoseconds duration) override { advance(duration); }

  void advance(std::chrono::nanoseconds duration) {
    const std::lock_guard lock(mutex_);
    since_boot_ += duration;
    since_epoch_ += duration;
  }

  /// What an administrator or a time service does: the time of day changes, nothing else.
  void jump_time_of_day(std::chrono::nanoseconds by) {
    const std::lock_guard lock(mutex_);
    since_epoch_ += by;
  }

 private:
  std::mutex mutex_;
  std::chrono::nanoseconds since_boot_ = std::chrono::hours(1);
  std::chrono::nanoseconds since_epoch_ = std::chrono::hours(24 * 365 * 50);
};

}  // namespace quantjit::cache

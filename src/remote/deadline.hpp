// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <sys/types.h>
#include <unistd.h>

namespace quantjit::remote {

/// The moment by which a call has to return.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(std::chrono::milliseconds after) : end_(Clock::now() + after) {}

  /// Rounded up, so that waiting for it never falls short; 0 once it has passed.
  [[nodiscard]] std::chrono::milliseconds remaining() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now());
    return std::max(left, std::chrono::milliseconds(0));
  }

  [[nodiscard]] bool passed() const { return Clock::now() >= end_; }

  [[nodiscard]] Clock::time_point end() const { return end_; }

  /// This one, or `after` from now if that is sooner.
  [[nodiscard]] Deadline at_most(std::chrono::milliseconds after) const {
    const Deadline other(after);
    return other.end_ < end_ ? other : *this;
  }

 private:
  Clock::time_point end_;
};

/// The process that an object was made in. A forked child must not touch what is shared with its
/// parent: connections, and locks that another thread may have held at that moment.
class HomeProcess {
 public:
  [[nodiscard]] bool left() const { return ::getpid() != process_; }

 private:
  pid_t process_ = ::getpid();
};

}  // namespace quantjit::remote

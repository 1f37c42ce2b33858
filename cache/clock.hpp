// SPDX-License-Identifier: Apache-2.0
// The store's view of time, so that tests can move it.
#pragma once

#include <chrono>
#include <cstdint>

namespace quantjit::cache {

/// Source of time. Implementations are thread safe.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock();

  /// Time since boot. Shared by all processes of one running kernel and never set back, so leases
  /// of processes on one host are compared by it.
  [[nodiscard]] virtual std::chrono::nanoseconds since_boot() = 0;
  /// Time since 1970. May jump; only ages that are hours long are judged by it.
  [[nodiscard]] virtual std::chrono::nanoseconds since_epoch() = 0;
  virtual void sleep(std::chrono::nanoseconds duration) = 0;
};

/// The machine's clocks. Lives as long as the process.
[[nodiscard]] Clock& system_clock();

}  // namespace quantjit::cache

// SPDX-License-Identifier: Apache-2.0
// How long things took: counts by ranges of seconds, as Prometheus has them.
#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace quantjit::base {

/// Thread safe. A reader may see an event in one of its numbers and not yet in another.
class TimeHistogram {
 public:
  /// Upper ends of the ranges in seconds. A kernel of the library compiles in 0.05 to 0.2.
  static constexpr std::array<double, 16> kBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                     0.05,   0.075, 0.1,    0.15,  0.25, 0.5,
                                                     1.0,    2.5,   10.0,   60.0};
  /// One for each bound, and what took longer.
  using Counts = std::array<std::uint64_t, kBounds.size() + 1>;

  void add(double seconds) noexcept {
    std::size_t range = 0;
    while (range < kBounds.size() && seconds > kBounds[range]) {
      ++range;
    }
    counts_[range].fetch_add(1, std::memory_order_relaxed);
    microseconds_.fetch_add(static_cast<std::uint64_t>(std::llround(seconds * 1e6)),
                            std::memory_order_relaxed);
  }

  [[nodiscard]] Counts counts() const noexcept {
    Counts counts{};
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] = counts_[i].load(std::memory_order_relaxed);
    }
    return counts;
  }

  /// Sum of all.
  [[nodiscard]] double seconds() const noexcept {
    return static_cast<double>(microseconds_.load(std::memory_order_relaxed)) / 1e6;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> counts_{};
  std::atomic<std::uint64_t> microseconds_{0};
};

}  // namespace quantjit::base

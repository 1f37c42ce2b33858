// SPDX-License-Identifier: Apache-2.0
// What a compile service counts beside its KernelService.
#pragma once

#include "src/base/time_histogram.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace quantjit::serve {

/// Kinds of requests.
enum class Route : std::uint8_t { kCompile, kEntries, kHealth, kMetrics, kStatus, kOther };

inline constexpr std::size_t kRoutes = 6;

/// Path of a route, e.g. "/v1/compile"; "other" for what there is not.
[[nodiscard]] std::string_view route_name(Route route);

/// Thread safe.
class Counters {
 public:
  using Answers = std::map<std::pair<Route, unsigned>, std::uint64_t>;

  void answered(Route route, unsigned status, double seconds) {
    times_[static_cast<std::size_t>(route)].add(seconds);
    const std::lock_guard lock(mutex_);
    ++answers_[{route, status}];
  }

  /// By route and status.
  [[nodiscard]] Answers answers() const {
    const std::lock_guard lock(mutex_);
    return answers_;
  }

  /// From the head of a request to the end of its answer.
  [[nodiscard]] const base::TimeHistogram& times(Route route) const {
    return times_[static_cast<std::size_t>(route)];
  }

  std::atomic<std::uint64_t> joined{0};           ///< requests answered by another one's compile
  std::atomic<std::uint64_t> source_compiles{0};  ///< of sources that clients sent
  std::atomic<std::uint64_t> lost{0};  ///< requests whose client was gone before the answer

 private:
  std::array<base::TimeHistogram, kRoutes> times_;
  mutable std::mutex mutex_;  // guards answers_
  Answers answers_;
};

}  // namespace quantjit::serve

// SPDX-License-Identifier: Apache-2.0
// What the store counts, in memory and, best effort, over all processes of a root.
#pragma once

#include "cache/file_system.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace quantjit::cache {

/// Counters in storage order. They are written to disk by number: never change or reuse one, add
/// new ones at the end of their block.
enum class Counter : std::uint8_t {
  kHits = 0,
  kMisses = 1,
  kHitsAnyToolchain = 2,
  kPublished = 3,
  kPublishFailed = 4,
  kPromoted = 5,
  kRejected = 6,
  kQuarantined = 7,
  kQuarantineFailed = 8,
  kReadFailed = 9,
  kEvicted = 10,
  kEvictedBytes = 11,
  kSweptTemporary = 12,
  kLeaseAcquired = 13,
  kLeaseWaited = 14,
  kLeaseTakenOver = 15,
  kLeaseTimedOut = 16,
  kLeaseLost = 17,
  kLeaseUnavailable = 18,
  kNoWritableRoot = 19,
  // What the operating system answered, whatever the step was.
  kErrorEexist = 32,
  kErrorEnoent = 33,
  kErrorEstale = 34,
  kErrorEbusy = 35,
  kErrorEnospc = 36,
  kErrorErofs = 37,
  kErrorEdquot = 38,
  kErrorEacces = 39,
  kErrorEio = 40,
  kErrorOther = 41,
};

inline constexpr std::size_t kCounterSlots = 64;
using CounterValues = std::array<std::uint64_t, kCounterSlots>;

/// snake_case name of a counter, e.g. "published"; empty for a number that is not in use.
[[nodiscard]] std::string_view counter_name(std::size_t number);
/// Counter of an errno value.
[[nodiscard]] Counter counter_of_error(IoError error);

/// The counters of one store. Thread safe.
class Counters {
 public:
  void add(Counter counter, std::uint64_t amount = 1) {
    values_[static_cast<std::size_t>(counter)].fetch_add(amount, std::memory_order_relaxed);
  }

  void add_error(IoError error) { add(counter_of_error(error)); }

  [[nodiscard]] std::uint64_t get(Counter counter) const {
    return values_[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
  }

  [[nodiscard]] CounterValues values() const;

 private:
  std::array<std::atomic<std::uint64_t>, kCounterSlots> values_{};
};

}  // namespace quantjit::cache

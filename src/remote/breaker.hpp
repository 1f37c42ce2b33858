// SPDX-License-Identifier: Apache-2.0
// Leaves a server that failed alone for a while, so that it costs its timeout once and not in every
// request.
#pragma once

#include "cache/clock.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <random>

namespace quantjit::remote {

struct BreakerTimings {
  std::chrono::nanoseconds first_pause = std::chrono::seconds(1);  ///< doubles with each failure
  std::chrono::nanoseconds last_pause = std::chrono::seconds(60);
  /// A pause is longer or shorter by up to this part of it, so that a fleet does not return at
  /// once.
  double jitter = 0.2;
};

/// Closed (calls pass) until a call fails; then open for a pause; then one caller at a time passes
/// as a probe, whose success closes it and whose failure begins a longer pause. Thread safe.
class Breaker {
 public:
  /// @param clock outlives the breaker
  Breaker(cache::Clock& clock, BreakerTimings timings, std::uint32_t seed);

  /// The right to make one call, and the duty to say how it ended. Destroyed without a word it is
  /// as if the call had not been made. Must not outlive the breaker.
  class [[nodiscard]] Pass {
   public:
    Pass(Pass&& other) noexcept;
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    Pass& operator=(Pass&&) = delete;
    ~Pass();

    [[nodiscard]] explicit operator bool() const { return breaker_ != nullptr; }

    /// True if this ended a time of failures.
    bool succeeded();
    /// True if this is the first failure after a time of success.
    bool failed();

   private:
    friend class Breaker;
    enum class Ending : std::uint8_t { kSucceeded, kFailed, kAbandoned };

    Pass() = default;

    Pass(Breaker& breaker, std::uint64_t era) : breaker_(&breaker), era_(era) {}

    bool end(Ending ending);

    Breaker* breaker_ = nullptr;
    std::uint64_t era_ = 0;
  };

  /// An empty pass if the server is left alone now.
  Pass enter();
  /// Whether enter() would give nothing now.
  [[nodiscard]] bool open();

 private:
  bool end(std::uint64_t era, Pass::Ending ending);
  [[nodiscard]] bool passable(std::chrono::nanoseconds now) const;
  std::chrono::nanoseconds next_pause();

  cache::Clock& clock_;
  const BreakerTimings timings_;
  std::mutex mutex_;  // guards all that follows
  std::minstd_rand random_;
  unsigned failures_ = 0;  // in a row
  bool probing_ = false;
  std::chrono::nanoseconds until_{0};
  // Grows when it opens or closes: what a call began before that has nothing to say about now.
  std::uint64_t era_ = 0;
};

}  // namespace quantjit::remote

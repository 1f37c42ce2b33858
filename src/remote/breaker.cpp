// SPDX-License-Identifier: Apache-2.0
#include "src/remote/breaker.hpp"

#include <algorithm>
#include <utility>

namespace quantjit::remote {

Breaker::Breaker(cache::Clock& clock, BreakerTimings timings, std::uint32_t seed)
    : clock_(clock), timings_(timings), random_(seed) {}

Breaker::Pass::Pass(Pass&& other) noexcept
    : breaker_(std::exchange(other.breaker_, nullptr)), era_(other.era_) {}

Breaker::Pass::~Pass() {
  end(Ending::kAbandoned);
}

bool Breaker::Pass::succeeded() {
  return end(Ending::kSucceeded);
}

bool Breaker::Pass::failed() {
  return end(Ending::kFailed);
}

bool Breaker::Pass::end(Ending ending) {
  Breaker* const breaker = std::exchange(breaker_, nullptr);
  return breaker != nullptr && breaker->end(era_, ending);
}

Breaker::Pass Breaker::enter() {
  const std::chrono::nanoseconds now = clock_.since_boot();
  const std::lock_guard lock(mutex_);
  if (!passable(now)) {
    return {};
  }
  probing_ = failures_ > 0;
  return {*this, era_};
}

bool Breaker::open() {
  const std::chrono::nanoseconds now = clock_.since_boot();
  const std::lock_guard lock(mutex_);
  return !passable(now);
}

bool Breaker::passable(std::chrono::nanoseconds now) const {
  return failures_ == 0 || (!probing_ && now >= until_);
}

bool Breaker::end(std::uint64_t era, Pass::Ending ending) {
  const std::chrono::nanoseconds now = clock_.since_boot();
  const std::lock_guard lock(mutex_);
  if (era != era_) {
    return false;
  }
  probing_ = false;
  if (ending == Pass::Ending::kAbandoned ||
      (ending == Pass::Ending::kSucceeded && failures_ == 0)) {
    return false;
  }
  ++era_;
  if (ending == Pass::Ending::kSucceeded) {
    failures_ = 0;
    return true;
  }
  ++failures_;
  until_ = now + next_pause();
  return failures_ == 1;
}

std::chrono::nanoseconds Breaker::next_pause() {
  std::chrono::nanoseconds pause = timings_.first_pause;
  for (unsigned i = 1; i < failures_ && pause < timings_.last_pause; ++i) {
    pause *= 2;
  }
  pause = std::min(pause, timings_.last_pause);
  const double part =
      std::uniform_real_distribution<double>(-timings_.jitter, timings_.jitter)(random_);
  return pause + std::chrono::nanoseconds(
                     static_cast<std::int64_t>(static_cast<double>(pause.count()) * part));
}

}  // namespace quantjit::remote

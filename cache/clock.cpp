// SPDX-License-Identifier: Apache-2.0
#include "cache/clock.hpp"

#include <ctime>
#include <thread>

namespace quantjit::cache {
namespace {

std::chrono::nanoseconds read_clock(clockid_t id) {
  struct timespec now {};

  ::clock_gettime(id, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

class SystemClock final : public Clock {
 public:
  // CLOCK_MONOTONIC stands still in suspend, and so does a holder's heartbeat.
  std::chrono::nanoseconds since_boot() override { return read_clock(CLOCK_MONOTONIC); }

  std::chrono::nanoseconds since_epoch() override { return read_clock(CLOCK_REALTIME); }

  void sleep(std::chrono::nanoseconds duration) override { std::this_thread::sleep_for(duration); }
};

}  // namespace

Clock::~Clock() = default;

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace quantjit::cache

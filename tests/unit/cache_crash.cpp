// SPDX-License-Identifier: Apache-2.0
#include "cache/store.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/manual_clock.hpp"

#include <random>
#include <signal.h>
#include <thread>

namespace quantjit::cache {

static constexpr int kKilled = 128 + SIGKILL;
static constexpr int kLivedOn = 3;

/// A process that publishes dies at a step; then another one looks, publishes and sweeps.
static int kill_at(int step, const std::string& moment) {
  INFO("killed at step " << step << ", " << moment << " it");
  const Entry entry = make_entry(1);
  const TemporaryDirectory directory;
  const int ended =
      ChildProcess({"publish-killed", directory / "root", "1", std::to_string(step), moment})
          .wait();
  REQUIRE((ended == kKilled || ended == kLivedOn));
  CaughtWarnings warnings;
  ManualClock clock;
  clock.jump_time_of_day(system_clock().since_epoch() - clock.since_epoch() +
                         std::chrono::hours(2));
  StoreOptions options = options_for({directory / "root"}, warnings);
  options.clock = &clock;
  CubinStore store(options);
  const LookupResult found = store.lookup(entry.key, entry.key_text);
  CHECK(found.status != LookupStatus::kRejected);
  if (found.found()) {
    CHECK(same_entry(*found.entry, entry));
  }
  // The next one that publishes also sweeps what the dead one left.
  CHECK(store.publish(entry).status == PublishStatus::kPublished);
  CHECK(store.lookup(entry.key, entry.key_text).found());
  CHECK(leftovers_below(directory.path()).empty());
  CHECK(warnings.count() == 0);
  return ended;
}

TEST_CASE("CubinStore: killed at any step of publishing, nothing half done is believed",
          "[cache]") {
  const std::string moment = GENERATE("before", "within");
  int step = 1;
  while (kill_at(step, moment) == kKilled) {
    ++step;
  }
  CHECK(step > 10);
}

TEST_CASE("CubinStore: killed at 200 random moments, nothing half done is believed", "[cache]") {
  const std::uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  std::uint64_t found_after_kill = 0;
  for (int round = 0; round < 200; ++round) {
    ChildProcess child({"publish-forever", directory / "root", "0"});
    REQUIRE(child.read_line() == "started");
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
    child.signal(SIGKILL);
    CHECK(child.wait() == kKilled);
    for (std::uint64_t i = 0; i < 4; ++i) {
      const Entry entry = make_entry(i, 30000);
      const LookupResult found = store.lookup(entry.key, entry.key_text);
      REQUIRE(found.status != LookupStatus::kRejected);
      found_after_kill += found.found() && same_entry(*found.entry, entry) ? 1 : 0;
    }
  }
  CHECK(found_after_kill > 0);
  CHECK(store.verify().bad.empty());
  CHECK(warnings.count() == 0);
}

}  // namespace quantjit::cache

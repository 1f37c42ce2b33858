// SPDX-License-Identifier: Apache-2.0
// Several tiers: background puts, and machines that wait for each other.
#include "src/remote/tiers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/tier_fixture.hpp"

#include <atomic>
#include <future>
#include <thread>

using namespace quantjit;
using namespace quantjit::remote;
using namespace quantjit::test;
using cache::Entry;
using cache::ManualClock;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr milliseconds kLong = std::chrono::minutes(5);
/// Leases that nobody renews in the background, for clocks that the test moves.
constexpr FleetTimings kByHand{.renew_every = milliseconds(0)};

std::shared_ptr<const Entry> shared(Entry entry) {
  return std::make_shared<const Entry>(std::move(entry));
}

/// A look that counts, and finds from the `found_at`th time on.
struct CountedLook {
  int found_at = 0;
  int looks = 0;

  bool operator()() { return ++looks >= found_at && found_at > 0; }
};

}  // namespace

TEST_CASE("Tiers: an entry is put in the background into the writable tiers before a place",
          "[remote]") {
  ManualClock clock;
  MemoryServer first;
  MemoryServer second;
  MemoryServer third;
  const auto tiers = tiers_of({}, clock, tier_of(first, clock),
                              tier_of(second, clock, {.readonly = true}), tier_of(third, clock));
  tiers->put_later(shared(entry_of(1)), 3);
  tiers->put_later(shared(entry_of(2)), 2);
  tiers->put_later(shared(entry_of(3)), 0);
  tiers->put_later(shared(entry_of(4)), 100);
  REQUIRE(tiers->flush(kLong));
  CHECK((*tiers)[0].stats().puts == 3);
  CHECK(second.calls("put") == 0);
  CHECK((*tiers)[2].stats().puts == 2);
  CHECK((*tiers)[2].get(wanted(entry_of(4))).found());
  CHECK(tiers->stats().size() == 3);
}

TEST_CASE("Tiers: entries beyond the queue are dropped and counted; the rest arrives", "[remote]") {
  ManualClock clock;
  MemoryServer server;
  server.leases = true;
  std::promise<void> begun;
  std::promise<void> end;
  std::shared_future<void> ended(end.get_future());
  bool first = true;
  server.faults.put = [&] {
    if (std::exchange(first, false)) {
      begun.set_value();
      ended.wait();
    }
    return Outcome::kFound;
  };
  const auto tiers =
      tiers_of({.queue = {.tasks = 2}, .fleet = kByHand}, clock, tier_of(server, clock));
  tiers->put_later(shared(entry_of(0)), 1);
  begun.get_future().wait();
  FleetLease lease;
  const Name name = name_of(entry_of(3));
  REQUIRE(tiers->take_turn(
              name, [] { return false; }, lease) == FleetTurn::kLease);
  for (int i = 1; i < 6; ++i) {
    tiers->put_later(shared(entry_of(i)), 1, i == 3 ? std::move(lease) : FleetLease());
  }
  CHECK((*tiers)[0].stats().dropped == 3);
  // Whoever waits for the one that was dropped is not kept waiting.
  CHECK(tiers->take_turn(
            name, [] { return false; }, lease) == FleetTurn::kLease);
  CHECK_FALSE(tiers->flush(milliseconds(1)));
  end.set_value();
  CHECK(tiers->flush(kLong));
  CHECK((*tiers)[0].stats().puts == 3);
}

TEST_CASE("Tiers: at the end the queue runs dry within its limit, and what is left is counted",
          "[remote]") {
  ManualClock clock;
  MemoryServer server;
  SECTION("in time") {
    {
      const auto tiers = tiers_of({.flush_limit = kLong}, clock, tier_of(server, clock));
      for (int i = 0; i < 20; ++i) {
        tiers->put_later(shared(entry_of(i)), 1);
      }
    }
    CHECK(server.items().size() == 40);
  }
  SECTION("too late") {
    RemoteTier* tier = nullptr;
    std::promise<void> ready;
    bool counted = false;
    server.faults.put = [&] {
      ready.get_future().wait();
      while (tier->stats().dropped < 4) {
        std::this_thread::yield();
      }
      counted = true;
      return Outcome::kFailed;
    };
    {
      const auto tiers = tiers_of({.flush_limit = milliseconds(1)}, clock, tier_of(server, clock));
      tier = &(*tiers)[0];
      for (int i = 0; i < 5; ++i) {
        tiers->put_later(shared(entry_of(i)), 1);
      }
      while (server.calls("put") == 0) {
        std::this_thread::yield();
      }
      ready.set_value();
    }
    CHECK(counted);
    CHECK(server.items().empty());
  }
}

TEST_CASE("Fleet: the first gets the lease, the next waits and finds what it stored", "[remote]") {
  ManualClock clock;
  MemoryServer server(clock);
  server.leases = true;
  const auto tiers = tiers_of({.fleet = kByHand}, clock, tier_of(server, clock));
  const Entry entry = entry_of(1);
  FleetLease mine;
  CountedLook look{};
  REQUIRE(tiers->take_turn(name_of(entry), std::ref(look), mine) == FleetTurn::kLease);
  CHECK(look.looks == 1);  // once more after the lease
  CHECK(mine);

  FleetLease other;
  int looks = 0;
  const auto until_it_is_there = [&] {
    if (++looks == 4) {
      tiers->put_later(shared(entry), 1, std::move(mine));
      REQUIRE(tiers->flush(kLong));
    }
    return (*tiers)[0].get(wanted(entry), Counting::kNoMiss).found();
  };
  CHECK(tiers->take_turn(name_of(entry), until_it_is_there, other) == FleetTurn::kFound);
  CHECK_FALSE(other);
  CHECK(looks == 4);
  CHECK((*tiers)[0].stats().waits == 1);
  CHECK((*tiers)[0].stats().misses == 0);
  CHECK(server.calls("release") == 1);
}

TEST_CASE("Fleet: whoever gains the lease looks once more, and gives it back if that finds",
          "[remote]") {
  ManualClock clock;
  MemoryServer server(clock);
  server.leases = true;
  const auto tiers = tiers_of({.fleet = kByHand}, clock, tier_of(server, clock));
  FleetLease lease;
  CountedLook look{.found_at = 1};
  CHECK(tiers->take_turn(name_of(entry_of(1)), std::ref(look), lease) == FleetTurn::kFound);
  CHECK_FALSE(lease);
  CHECK(server.calls("release") == 1);
  look = {};
  CHECK(tiers->take_turn(name_of(entry_of(1)), std::ref(look), lease) == FleetTurn::kLease);
}

TEST_CASE("Fleet: the lease of a machine that died runs out and is taken over", "[remote]") {
  ManualClock clock;
  MemoryServer server(clock);
  server.leases = true;
  const auto tiers = tiers_of({.fleet = kByHand}, clock, tier_of(server, clock));
  const Name name = name_of(entry_of(1));
  FleetLease dead;
  CountedLook look{};
  REQUIRE(tiers->take_turn(name, std::ref(look), dead) == FleetTurn::kLease);
  const auto begin = clock.since_boot();
  FleetLease next;
  CHECK(tiers->take_turn(name, std::ref(look), next) == FleetTurn::kLease);
  CHECK(clock.since_boot() - begin >= kByHand.duration);
  CHECK(clock.since_boot() - begin < kByHand.duration + seconds(2));
  // It was not dead, only slow: it learns that, and its release leaves the successor's alone.
  CHECK_FALSE(dead.renew());
  dead.release();
  CHECK(next.renew());
}

TEST_CASE("Fleet: a lease that is renewed is waited for until the limit, then all compile",
          "[remote]") {
  ManualClock clock;
  MemoryServer server(clock);
  server.leases = true;
  const auto tiers = tiers_of({.fleet = kByHand}, clock, tier_of(server, clock));
  const Name name = name_of(entry_of(1));
  FleetLease held;
  REQUIRE(tiers->take_turn(
              name, [] { return false; }, held) == FleetTurn::kLease);
  const auto begin = clock.since_boot();
  int looks = 0;
  const auto renewing_look = [&] {
    ++looks;
    CHECK(held.renew());
    return false;
  };
  FleetLease lease;
  CHECK(tiers->take_turn(name, renewing_look, lease) == FleetTurn::kCompile);
  CHECK_FALSE(lease);
  CHECK(clock.since_boot() - begin == kByHand.limit);
  CHECK(looks > 30);  // pauses of at most a second
  CHECK(looks < 100);
}

TEST_CASE("Fleet: a tier may have a limit of its own for the wait", "[remote]") {
  ManualClock clock;
  MemoryServer server(clock);
  server.leases = true;
  const auto tiers = tiers_of({.fleet = kByHand}, clock,
                              tier_of(server, clock, {.lease_wait = std::chrono::seconds(3)}));
  const Name name = name_of(entry_of(1));
  FleetLease held;
  REQUIRE(tiers->take_turn(
              name, [] { return false; }, held) == FleetTurn::kLease);
  const auto begin = clock.since_boot();
  FleetLease lease;
  CHECK(tiers->take_turn(
            name, [] { return false; }, lease) == FleetTurn::kCompile);
  CHECK(clock.since_boot() - begin == std::chrono::seconds(3));
}

TEST_CASE("Fleet: without an answer about the lease everybody compiles at once", "[remote]") {
  ManualClock clock;
  MemoryServer broken(clock);
  broken.leases = true;
  broken.faults.lease = [] { return false; };
  MemoryServer plain(clock);
  FleetLease lease;
  CountedLook look{};
  {
    const auto tiers = tiers_of({.fleet = kByHand}, clock, tier_of(plain, clock));
    CHECK_FALSE(tiers->has_leases());
    CHECK(tiers->take_turn(name_of(entry_of(1)), std::ref(look), lease) == FleetTurn::kCompile);
    const auto failing = tiers_of({.fleet = kByHand}, clock, tier_of(broken, clock));
    CHECK(failing->take_turn(name_of(entry_of(1)), std::ref(look), lease) == FleetTurn::kCompile);
  }
  // The next tier keeps the lease then.
  MemoryServer good(clock);
  good.leases = true;
  const auto tiers = tiers_of({.fleet = kByHand}, clock, tier_of(plain, clock),
                              tier_of(broken, clock), tier_of(good, clock));
  CHECK(tiers->take_turn(name_of(entry_of(1)), std::ref(look), lease) == FleetTurn::kLease);
  CHECK(good.calls("acquire") == 1);
  CHECK(look.looks == 1);
  lease.release();
}

TEST_CASE("Fleet: a held lease is renewed by itself until it is given back or lost", "[remote]") {
  MemoryServer server;
  server.leases = true;
  const FleetTimings quick{.renew_every = milliseconds(1)};
  const auto tier = tier_of(server, cache::system_clock());
  const Name name = name_of(entry_of(1));
  std::string token;
  REQUIRE(tier->acquire(name, kLong, token) == LeaseReply::kAcquired);
  FleetLease lease(*tier, name, token, quick);
  while (server.calls("renew") < 5) {
    std::this_thread::yield();
  }
  lease.release();
  CHECK_FALSE(lease);
  CHECK(server.calls("release") == 1);
  lease.release();
  lease.forget();
  CHECK(server.calls("release") == 1);

  REQUIRE(tier->acquire(name, kLong, token) == LeaseReply::kAcquired);
  {
    FleetLease forgotten(*tier, name, token, quick);
    forgotten.forget();
  }
  CHECK(server.calls("release") == 1);
  CHECK(tier->acquire(name, kLong, token) == LeaseReply::kHeld);
}

TEST_CASE("Fleet: of many machines that want one kernel one compiles it", "[remote]") {
  MemoryServer server;
  server.leases = true;
  constexpr int kMachines = 16;
  constexpr int kKernels = 8;
  const RemoteOptions options{.flush_limit = kLong,
                              .fleet = {.duration = kLong,
                                        .limit = kLong,
                                        .poll_first = milliseconds(1),
                                        .poll_last = milliseconds(2)}};
  std::vector<std::atomic<int>> compiles(kKernels);
  const auto machine = [&] {
    const auto tiers =
        tiers_of(options, cache::system_clock(), tier_of(server, cache::system_clock()));
    int right = 0;
    for (int kernel = 0; kernel < kKernels; ++kernel) {
      const Entry entry = entry_of(kernel);
      Look found;
      const auto look = [&] {
        found = (*tiers)[0].get(wanted(entry), Counting::kNoMiss);
        return found.found();
      };
      FleetLease lease;
      if (look() || tiers->take_turn(name_of(entry), look, lease) == FleetTurn::kFound) {
        right += found.entry->code == entry.code ? 1 : 0;
        continue;
      }
      ++compiles[static_cast<std::size_t>(kernel)];
      tiers->put_later(shared(entry), 1, std::move(lease));
      ++right;
    }
    return right;
  };
  std::vector<std::future<int>> machines;
  for (int i = 0; i < kMachines; ++i) {
    machines.push_back(std::async(std::launch::async, machine));
  }
  for (std::future<int>& one : machines) {
    CHECK(one.get() == kKernels);
  }
  for (const std::atomic<int>& count : compiles) {
    CHECK(count == 1);
  }
}

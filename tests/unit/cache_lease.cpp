// SPDX-License-Identifier: Apache-2.0
#include "cache/lease_record.hpp"
#include "cache/store.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/manual_clock.hpp"

#include <array>
#include <filesystem>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace quantjit::cache {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::ContainsSubstring;

namespace {

/// Two stores on one root, as two processes have them, under one clock that tests move.
struct TwoStores {
  TemporaryDirectory directory;
  CaughtWarnings warnings;
  ManualClock clock;
  Entry entry = make_entry(1);
  CubinStore first{options()};
  CubinStore second{options()};

  StoreOptions options() {
    StoreOptions made = options_for({directory / "root"}, warnings);
    made.clock = &clock;
    return made;
  }

  [[nodiscard]] std::string lease_path() const {
    return (directory / "root/v1/leases/") + entry.key.name() + ".lease";
  }
};

/// A lease text whose holder is `owner`.
std::string lease_of(const ProcessIdentity& owner, std::chrono::nanoseconds beat_time) {
  LeaseRecord record;
  record.token = std::string(32, 'e');
  record.beat_time = beat_time;
  record.owner = owner;
  return format_lease(record);
}

}  // namespace

TEST_CASE("Lease: one holder at a time, and the next after it", "[cache]") {
  TwoStores stores;
  LeaseAttempt mine = stores.first.acquire_lease(stores.entry.key);
  REQUIRE(mine.status == LeaseStatus::kAcquired);
  CHECK(mine.lease.heartbeat());
  const LeaseAttempt theirs = stores.second.acquire_lease(stores.entry.key);
  CHECK(theirs.status == LeaseStatus::kHeld);
  CHECK(theirs.holder.pid == ::getpid());
  CHECK_FALSE(theirs.holder.host.empty());
  CHECK(stores.second.acquire_lease(make_entry(2).key).status == LeaseStatus::kAcquired);
  mine.lease.release();
  CHECK_FALSE(static_cast<bool>(mine.lease));
  CHECK(stores.second.acquire_lease(stores.entry.key).status == LeaseStatus::kAcquired);
  CHECK(leftovers_below(stores.directory.path()).empty());
}

TEST_CASE("Lease: a holder that beats is left alone, a silent one is taken over in time",
          "[cache]") {
  TwoStores stores;
  LeaseAttempt mine = stores.first.acquire_lease(stores.entry.key);
  for (int i = 0; i < 20; ++i) {
    stores.clock.advance(seconds(4));
    CHECK(mine.lease.heartbeat());
    CHECK(stores.second.acquire_lease(stores.entry.key).status == LeaseStatus::kHeld);
  }
  stores.clock.advance(milliseconds(4999));
  CHECK(stores.second.acquire_lease(stores.entry.key).status == LeaseStatus::kHeld);
  stores.clock.advance(milliseconds(1));
  LeaseAttempt theirs = stores.second.acquire_lease(stores.entry.key);
  REQUIRE(theirs.status == LeaseStatus::kAcquired);
  CHECK(counter(stores.second, Counter::kLeaseTakenOver) == 1);

  // The first holder was only slow. It learns of its loss, and takes nothing with it when it goes.
  CHECK_FALSE(mine.lease.heartbeat());
  CHECK(counter(stores.first, Counter::kLeaseLost) == 1);
  mine.lease.release();
  CHECK(theirs.lease.heartbeat());
  CHECK(stores.first.acquire_lease(stores.entry.key).status == LeaseStatus::kHeld);
  theirs.lease.release();
  CHECK(leftovers_below(stores.directory.path()).empty());
}

TEST_CASE("Lease: a jump of the time of day by an hour changes nothing", "[cache]") {
  for (const auto jump : {hours(1), hours(-1), hours(24 * 400)}) {
    TwoStores stores;
    LeaseAttempt mine = stores.first.acquire_lease(stores.entry.key);
    stores.clock.jump_time_of_day(jump);
    CHECK(stores.second.acquire_lease(stores.entry.key).status == LeaseStatus::kHeld);
    CHECK(mine.lease.heartbeat());
    stores.clock.advance(seconds(5));
    CHECK(stores.second.acquire_lease(stores.entry.key).status == LeaseStatus::kAcquired);
  }
}

TEST_CASE("Lease: dead holders, reused process ids and other machines are told apart", "[cache]") {
  TwoStores stores;
  stores.first.publish(make_entry(2));
  std::filesystem::create_directory(stores.directory / "root/v1/leases");
  const ProcessIdentity self = current_process();
  REQUIRE(self.start != 0);
  REQUIRE_FALSE(self.kernel.empty());
  const auto status_with = [&](const ProcessIdentity& owner) {
    write_file(stores.lease_path(), lease_of(owner, stores.clock.since_boot()));
    return stores.second.acquire_lease(stores.entry.key).status;
  };
  CHECK(status_with(self) == LeaseStatus::kHeld);

  ProcessIdentity reused = self;
  reused.start += 1;  // the same number, but not the process that wrote it
  CHECK(status_with(reused) == LeaseStatus::kAcquired);

  ProcessIdentity ended = self;
  {
    ChildProcess child({"publish", stores.directory / "other", "0", "0", "0", "0"});
    ended.pid = child.pid();
    ended.start = 0;
    CHECK(child.wait() == 0);
  }
  CHECK(status_with(ended) == LeaseStatus::kAcquired);

  // In another container the same number means another process.
  ProcessIdentity elsewhere = ended;
  elsewhere.kernel += "x";
  CHECK(status_with(elsewhere) == LeaseStatus::kHeld);
  ProcessIdentity unknown = ended;
  unknown.kernel.clear();
  CHECK(status_with(unknown) == LeaseStatus::kHeld);
}

TEST_CASE("Lease: a holder on another machine is judged by what the waiter sees", "[cache]") {
  TwoStores stores;
  stores.first.publish(make_entry(2));
  std::filesystem::create_directory(stores.directory / "root/v1/leases");
  ProcessIdentity owner = current_process();
  owner.kernel = "another machine";
  // Its clock means nothing here.
  const auto beat_time =
      GENERATE(as<std::chrono::nanoseconds>{}, std::chrono::nanoseconds(0), hours(100000));
  write_file(stores.lease_path(), lease_of(owner, beat_time));
  const auto began = stores.clock.since_boot();
  const Turn turn = stores.second.wait_for_entry_or_lease(stores.entry.key, stores.entry.key_text);
  CHECK(turn.status == TurnStatus::kLease);
  const auto waited = stores.clock.since_boot() - began;
  CHECK(waited >= seconds(5));
  CHECK(waited <= milliseconds(5200));
}

TEST_CASE("Lease: damaged, empty and foreign lease files hold nobody up for long", "[cache]") {
  for (const std::string& content :
       {std::string(), std::string("garbage"), std::string(100000, 'x'),
        lease_of(current_process(), {}).substr(0, 70), std::string(4096, '\0')}) {
    TwoStores stores;
    stores.first.publish(make_entry(2));
    std::filesystem::create_directory(stores.directory / "root/v1/leases");
    write_file(stores.lease_path(), content);
    CHECK(stores.second.acquire_lease(stores.entry.key).status == LeaseStatus::kHeld);
    const Turn turn =
        stores.second.wait_for_entry_or_lease(stores.entry.key, stores.entry.key_text);
    CHECK(turn.status == TurnStatus::kLease);
  }
}

TEST_CASE("Lease: at the limit a waiter compiles anyway", "[cache]") {
  TwoStores stores;
  LeaseAttempt mine = stores.first.acquire_lease(stores.entry.key);
  REQUIRE(mine.status == LeaseStatus::kAcquired);
  StoreOptions options = stores.options();
  options.lease.limit = seconds(3);
  CubinStore impatient(options);
  const auto began = stores.clock.since_boot();
  const Turn turn = impatient.wait_for_entry_or_lease(stores.entry.key, stores.entry.key_text);
  CHECK(turn.status == TurnStatus::kCompile);
  CHECK_THAT(turn.reason, ContainsSubstring("process " + std::to_string(::getpid())));
  CHECK(stores.clock.since_boot() - began == seconds(3));
  CHECK(counter(impatient, Counter::kLeaseTimedOut) == 1);
  // What it made does good all the same.
  const PublishOutcome published = impatient.publish(stores.entry);
  CHECK(published.status == PublishStatus::kPublished);
  const Turn found = stores.second.wait_for_entry_or_lease(stores.entry.key, stores.entry.key_text);
  CHECK(found.found());
  CHECK(found.path == published.path);
}

TEST_CASE("Lease: a claim left by a process that died while taking over is dropped", "[cache]") {
  TwoStores stores;
  stores.first.publish(make_entry(2));
  std::filesystem::create_directory(stores.directory / "root/v1/leases");
  ProcessIdentity reused = current_process();
  reused.start += 1;
  const std::string dead = lease_of(reused, stores.clock.since_boot());
  write_file(stores.lease_path(), dead);
  const std::string claim = stores.lease_path() + ".claim-" + std::string(32, 'e');
  SECTION("its owner is known to be dead") {
    write_file(claim, dead);
  }
  SECTION("it is empty") {
    write_file(claim, "");
  }
  const Turn turn = stores.second.wait_for_entry_or_lease(stores.entry.key, stores.entry.key_text);
  CHECK(turn.status == TurnStatus::kLease);
  CHECK_FALSE(std::filesystem::exists(claim));
}

TEST_CASE("Lease: of many that see a dead holder one takes over", "[cache]") {
  TwoStores stores;
  stores.first.publish(make_entry(2));
  std::filesystem::create_directory(stores.directory / "root/v1/leases");
  ProcessIdentity reused = current_process();
  reused.start += 1;
  for (int round = 0; round < 50; ++round) {
    write_file(stores.lease_path(), lease_of(reused, stores.clock.since_boot()));
    std::array<LeaseAttempt, 4> attempts;
    std::vector<std::thread> threads;
    for (LeaseAttempt& attempt : attempts) {
      threads.emplace_back([&] { attempt = stores.second.acquire_lease(stores.entry.key); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    int holders = 0;
    for (LeaseAttempt& attempt : attempts) {
      holders += attempt.lease.heartbeat() ? 1 : 0;
    }
    CHECK(holders == 1);
  }
  CHECK(leftovers_below(stores.directory.path()).empty());
}

TEST_CASE("Lease: the thread of a lease keeps it alive", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  StoreOptions options = options_for({directory / "root"}, warnings);
  options.lease.heartbeat = milliseconds(5);
  CubinStore store(options);
  const LeaseAttempt attempt = store.acquire_lease(make_entry(1).key);
  REQUIRE(attempt.status == LeaseStatus::kAcquired);
  const std::string path = files_below(directory / "root/v1/leases").at(0);
  std::optional<LeaseRecord> record = parse_lease(read_all(path));
  while (!record || record->beats < 3) {  // ends by the test's own time limit if it does not beat
    std::this_thread::yield();
    record = parse_lease(read_all(path));
  }
  CHECK(record->owner == current_process());
}

TEST_CASE("Lease: a forked child does not give back what its parent holds", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  LeaseAttempt attempt = store.acquire_lease(make_entry(1).key);
  REQUIRE(attempt.status == LeaseStatus::kAcquired);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool beats = attempt.lease.heartbeat();
    attempt.lease.release();
    ::_exit(beats ? 1 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(attempt.lease.heartbeat());
}

TEST_CASE("Lease: a killed process is taken over at once", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  StoreOptions options = options_for({directory / "root"}, warnings);
  options.lease.silence = hours(1);  // so it is not by silence
  options.lease.limit = hours(1);
  CubinStore store(options);
  const Entry entry = make_entry(1);
  ChildProcess holder({"hold", directory / "root", "1"});
  REQUIRE(holder.read_line() == "held");
  CHECK(store.acquire_lease(entry.key).status == LeaseStatus::kHeld);
  CHECK(store.acquire_lease(entry.key).holder.pid == holder.pid());
  holder.signal(SIGKILL);
  // Not reaped yet: a zombie does not hold anything either.
  const Turn turn = store.wait_for_entry_or_lease(entry.key, entry.key_text);
  CHECK(turn.status == TurnStatus::kLease);
  CHECK(counter(store, Counter::kLeaseTakenOver) == 1);
  CHECK(holder.wait() == 128 + SIGKILL);
}

TEST_CASE("Lease: what killed processes held is given back, and nothing else", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  CHECK(store.release_dead_leases() == 0);  // there is no root yet
  const LeaseAttempt own = store.acquire_lease(make_entry(1).key);
  REQUIRE(own.status == LeaseStatus::kAcquired);
  ChildProcess living({"hold", directory / "root", "2"});
  REQUIRE(living.read_line() == "held");
  ChildProcess killed({"hold", directory / "root", "3"});
  REQUIRE(killed.read_line() == "held");
  CHECK(store.release_dead_leases() == 0);
  killed.signal(SIGKILL);
  CHECK(killed.wait() == 128 + SIGKILL);

  CHECK(store.release_dead_leases() == 1);
  CHECK(store.release_dead_leases() == 0);
  CHECK(store.acquire_lease(make_entry(1).key).status == LeaseStatus::kHeld);
  CHECK(store.acquire_lease(make_entry(2).key).status == LeaseStatus::kHeld);
  const LeaseAttempt next = store.acquire_lease(make_entry(3).key);
  CHECK(next.status == LeaseStatus::kAcquired);
  CHECK(counter(store, Counter::kLeaseTakenOver) == 1);  // not by this one
  living.release();
  CHECK(living.wait() == 0);
}

TEST_CASE("Lease: a stopped process is taken over, and does no harm when it goes on", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  StoreOptions options = options_for({directory / "root"}, warnings);
  options.lease.silence = milliseconds(1500);  // one and a half beats
  CubinStore store(options);
  const Entry entry = make_entry(1);
  ChildProcess holder({"hold", directory / "root", "1"});
  REQUIRE(holder.read_line() == "held");
  holder.signal(SIGSTOP);
  Turn turn = store.wait_for_entry_or_lease(entry.key, entry.key_text);
  REQUIRE(turn.status == TurnStatus::kLease);
  holder.signal(SIGCONT);
  holder.release();
  CHECK(holder.wait() == 0);
  CHECK(turn.lease.heartbeat());
  turn.lease.release();
  CHECK(leftovers_below(directory.path()).empty());
}

}  // namespace quantjit::cache

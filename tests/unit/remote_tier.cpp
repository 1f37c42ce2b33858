// SPDX-License-Identifier: Apache-2.0
// One tier: what it believes, what it makes of failures, what it counts.
#include "src/remote/tier.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/tier_fixture.hpp"

using namespace quantjit;
using namespace quantjit::remote;
using namespace quantjit::test;
using cache::Entry;
using cache::ManualClock;
using std::chrono::seconds;

namespace {

/// Fails, or answers otherwise, for as long as the test wants it.
std::function<Outcome()> always(Outcome outcome) {
  return [outcome] { return outcome; };
}

TierOptions with_key(const std::string& bytes) {
  TierOptions options;
  options.mac_key = [bytes] {
    return cache::MacKey{
        .usable = !bytes.empty(), .settled = true, .bytes = bytes, .reason = "there is none"};
  };
  return options;
}

const std::string kSecret = "0123456789abcdef0123";

}  // namespace

TEST_CASE("RemoteTier: what is put is got, by its toolchain and as the newest", "[remote]") {
  ManualClock clock;
  MemoryServer server;
  const auto tier = tier_of(server, clock);
  const Entry entry = entry_of(1);
  CHECK(tier->get(wanted(entry)).status == LookStatus::kAbsent);
  CHECK(tier->get(wanted_by_any(entry)).status == LookStatus::kAbsent);
  REQUIRE(tier->put(entry));
  for (const Wanted& one : {wanted(entry), wanted_by_any(entry)}) {
    const Look look = tier->get(one);
    REQUIRE(look.found());
    CHECK(look.entry->key == entry.key);
    CHECK(look.entry->code == entry.code);
    CHECK(look.entry->metadata == entry.metadata);
    CHECK(look.entry->toolchain_rank == entry.toolchain_rank);
  }
  CHECK(tier->get({entry.key.request, kOldToolchain, entry.key_text}).status ==
        LookStatus::kAbsent);
  const RemoteTierStats stats = tier->stats();
  CHECK(stats.label == "memory://server");
  CHECK(stats.hits == 2);
  CHECK(stats.misses == 3);
  CHECK(stats.puts == 1);
  CHECK(stats.bytes_written == cache::serialize(entry).size());
  CHECK(stats.bytes_read == 2 * stats.bytes_written);
  CHECK(stats.failures + stats.rejected + stats.put_failures + stats.dropped + stats.skipped == 0);
  CHECK(stats.writable);
  CHECK_FALSE(stats.benched);
}

TEST_CASE("RemoteTier: the newest is the one of the highest rank, whatever is put last",
          "[remote]") {
  ManualClock clock;
  MemoryServer server;
  const auto tier = tier_of(server, clock);
  const Entry older = entry_of(1, kOldToolchain, 12008);
  const Entry newer = entry_of(1, kToolchain, 13000);
  const auto newest = [&] { return tier->get(wanted_by_any(newer)).entry.value().key.toolchain; };
  REQUIRE(tier->put(older));
  CHECK(newest() == kOldToolchain);
  REQUIRE(tier->put(newer));
  CHECK(newest() == kToolchain);
  REQUIRE(tier->put(older));
  CHECK(newest() == kToolchain);
  // Nonsense there is replaced, and misleads nobody before.
  server.store(newest_of(newer), "qj-latest 1 99999 nonsense");
  CHECK(tier->get(wanted_by_any(newer)).status == LookStatus::kRejected);
  REQUIRE(tier->put(older));
  CHECK(newest() == kOldToolchain);
  // It may name what is not there any more.
  server.store(newest_of(newer), "qj-latest 1 14000 00000000000000cc\n");
  CHECK(tier->get(wanted_by_any(newer)).status == LookStatus::kAbsent);
}

TEST_CASE("RemoteTier: nothing but the wanted entry, whole and unchanged, is believed",
          "[remote]") {
  ManualClock clock;
  MemoryServer server;
  const auto tier = tier_of(server, clock);
  const Entry entry = entry_of(1);
  const std::string good = cache::serialize(entry);
  const auto status_of = [&](std::string bytes) {
    server.store(name_of(entry), std::move(bytes));
    const std::uint64_t before = tier->stats().rejected;
    const Look look = tier->get(wanted(entry));
    CHECK(look.entry.has_value() == look.found());
    CHECK(tier->stats().rejected == before + (look.found() ? 0 : 1));
    return look.status;
  };
  CHECK(status_of(good) == LookStatus::kFound);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string flipped = good;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    CAPTURE(i);
    CHECK(status_of(flipped) == LookStatus::kRejected);
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    CHECK(status_of(good.substr(0, size)) == LookStatus::kRejected);
  }
  CHECK(status_of(good + '\0') == LookStatus::kRejected);
  CHECK(status_of(cache::serialize(entry_of(2))) == LookStatus::kRejected);
  CHECK(status_of(cache::serialize(entry_of(1, kOldToolchain))) == LookStatus::kRejected);
  Entry collision = entry_of(1);
  collision.key_text = "something else";
  CHECK(status_of(cache::serialize(collision)) == LookStatus::kRejected);
  CHECK(status_of(cache::serialize(entry, kSecret)) == LookStatus::kRejected);
  CHECK(status_of("<html>please log in</html>") == LookStatus::kRejected);
  // It answered: that is no failure, and the next put makes it good.
  CHECK(tier->stats().failures == 0);
  CHECK_FALSE(tier->stats().benched);
  REQUIRE(tier->put(entry));
  CHECK(tier->get(wanted(entry)).found());
}

TEST_CASE("RemoteTier: with a key only what is sealed under it is believed", "[remote]") {
  ManualClock clock;
  MemoryServer server;
  const Entry entry = entry_of(1);
  const auto ours = tier_of(server, clock, with_key(kSecret));
  REQUIRE(ours->put(entry));
  CHECK(ours->get(wanted(entry)).found());
  CHECK(tier_of(server, clock)->get(wanted(entry)).status == LookStatus::kRejected);
  const auto others = tier_of(server, clock, with_key("another key that is long"));
  CHECK(others->get(wanted(entry)).status == LookStatus::kRejected);
  REQUIRE(others->put(entry));
  CHECK(ours->get(wanted(entry)).status == LookStatus::kRejected);

  const auto without = tier_of(server, clock, with_key(""));
  CHECK(without->get(wanted(entry)).status == LookStatus::kRejected);
  CHECK_FALSE(without->put(entry));
  CHECK(without->stats().put_failures == 1);
}

TEST_CASE("RemoteTier: a server that fails costs one call, then none until the pause ends",
          "[remote]") {
  ManualClock clock;
  MemoryServer server;
  server.leases = true;
  const auto tier = tier_of(server, clock, {.breaker = {.jitter = 0}});
  const Entry entry = entry_of(1);
  REQUIRE(tier->put(entry));
  const Outcome outcome = GENERATE(Outcome::kFailed, Outcome::kRefused);
  server.faults.get = always(outcome);
  const int before = server.calls("get");
  CHECK(tier->get(wanted(entry)).status == LookStatus::kFailed);
  for (int i = 0; i < 10; ++i) {
    CHECK(tier->get(wanted(entry)).status == LookStatus::kBenched);
  }
  std::string token;
  CHECK_FALSE(tier->put(entry));
  CHECK(tier->acquire(name_of(entry), seconds(1), token) == LeaseReply::kFailed);
  CHECK(server.calls("get") == before + 1);
  CHECK(server.calls("acquire") == 0);
  CHECK(tier->stats().benched);
  CHECK(tier->stats().failures == 1);
  CHECK(tier->stats().skipped == 12);
  CHECK(tier->stats().dropped == 1);
  CHECK(tier->stats().last_error == "memory://server: as the test wants it");

  clock.advance(seconds(1));
  CHECK(tier->get(wanted(entry)).status == LookStatus::kFailed);
  clock.advance(seconds(1));
  CHECK(tier->get(wanted(entry)).status == LookStatus::kBenched);
  server.faults.get = nullptr;
  CHECK(tier->get(wanted(entry)).status == LookStatus::kBenched);
  clock.advance(seconds(1));
  CHECK(tier->get(wanted(entry)).found());
  CHECK_FALSE(tier->stats().benched);
  CHECK(tier->put(entry));
}

TEST_CASE("RemoteTier: a server that takes no entries is still read", "[remote]") {
  ManualClock clock;
  MemoryServer server;
  server.leases = true;
  const auto tier = tier_of(server, clock, {.breaker = {.jitter = 0}});
  REQUIRE(tier->put(entry_of(1)));
  server.faults.put = always(Outcome::kRefused);
  const int before = server.calls("put");
  CHECK_FALSE(tier->put(entry_of(2)));
  CHECK_FALSE(tier->put(entry_of(3)));
  CHECK(server.calls("put") == before + 1);
  CHECK(tier->get(wanted(entry_of(1))).found());
  CHECK_FALSE(tier->stats().benched);
  CHECK(tier->stats().put_failures == 1);
  CHECK(tier->stats().dropped == 1);
  // Nobody shall wait for a result that cannot be stored.
  std::string token;
  CHECK(tier->acquire(name_of(entry_of(3)), seconds(1), token) == LeaseReply::kFailed);
  server.faults.put = nullptr;
  clock.advance(seconds(1));
  CHECK(tier->put(entry_of(2)));
  CHECK(tier->acquire(name_of(entry_of(3)), seconds(1), token) == LeaseReply::kAcquired);
}

TEST_CASE("RemoteTier: bodies and entries beyond the limit are neither read nor sent", "[remote]") {
  ManualClock clock;
  MemoryServer server;
  const Entry entry = entry_of(1);
  const std::size_t size = cache::serialize(entry).size();
  REQUIRE(tier_of(server, clock, {.max_entry = size})->put(entry));
  const auto tight = tier_of(server, clock, {.max_entry = size - 1});
  CHECK(tight->get(wanted(entry)).status == LookStatus::kFailed);
  CHECK_FALSE(tight->put(entry));
  CHECK(tight->stats().put_failures == 1);
}

TEST_CASE("RemoteTier: what its options take away is not done", "[remote]") {
  ManualClock clock;
  MemoryServer server;
  server.leases = true;
  const auto reader = tier_of(server, clock, {.readonly = true});
  CHECK_FALSE(reader->writable());
  CHECK_FALSE(reader->has_leases());
  CHECK(tier_of(server, clock)->has_leases());
  // After its deadline a put is not begun.
  const auto writer = tier_of(server, clock);
  CHECK_FALSE(writer->put(entry_of(1), std::chrono::steady_clock::now()));
  CHECK(writer->stats().dropped == 1);
  CHECK(server.calls("put") == 0);
}

TEST_CASE("RemoteTier: several servers share the requests, and each is benched alone", "[remote]") {
  ManualClock clock;
  MemoryServer first;
  MemoryServer second;
  std::vector<std::unique_ptr<Backend>> servers;
  servers.push_back(std::make_unique<MemoryBackend>(first, "memory://a"));
  servers.push_back(std::make_unique<MemoryBackend>(second, "memory://b"));
  RemoteTier tier({}, std::move(servers), clock);
  CHECK(tier.label() == "memory://a,memory://b");
  std::vector<Entry> on_first;
  std::vector<Entry> on_second;
  for (int i = 0; i < 40; ++i) {
    const Entry entry = entry_of(i);
    REQUIRE(tier.put(entry));
    (first.items().contains(MemoryServer::text_of(name_of(entry))) ? on_first : on_second)
        .push_back(entry);
  }
  REQUIRE(on_first.size() >= 5);
  REQUIRE(on_second.size() >= 5);
  CHECK(first.items().size() == 2 * on_first.size());
  CHECK(second.items().size() == 2 * on_second.size());
  second.faults.get = always(Outcome::kFailed);
  CHECK(tier.get(wanted(on_second[0])).status == LookStatus::kFailed);
  CHECK(tier.get(wanted(on_second[1])).status == LookStatus::kBenched);
  for (const Entry& entry : on_first) {
    CHECK(tier.get(wanted(entry)).found());
  }
  CHECK(tier.probe() == std::vector<std::string>{"", "memory://b: as the test wants it"});
}

TEST_CASE("RemoteTier: what a compile service sends must be the wanted entry too", "[remote]") {
  ManualClock clock;
  MemoryServer server;
  server.compiles = true;
  const auto tier = tier_of(server, clock, {.breaker = {.jitter = 0}});
  const Entry entry = entry_of(1);
  std::string seen;
  Reply answer{Outcome::kFound, cache::serialize(entry), {}};
  server.faults.compile = [&](std::string_view order) {
    seen = order;
    return answer;
  };
  CHECK_FALSE(tier->writable());
  CHECK(tier->compile(wanted(entry), "an order").found());
  CHECK(tier->compile(wanted_by_any(entry), "an order").found());
  CHECK(seen == "an order");
  CHECK(tier->stats().service_compiles == 2);
  CHECK(tier->compile(wanted(entry_of(2)), "another").status == LookStatus::kRejected);

  answer = {Outcome::kRefused, {}, "the queue is full", true};
  const Look busy = tier->compile(wanted(entry), "an order");
  CHECK(busy.status == LookStatus::kFailed);
  CHECK(busy.busy);
  answer = {Outcome::kRefused, {}, "other sources"};
  CHECK(tier->compile(wanted(entry), "an order").status == LookStatus::kFailed);  // not benched
  CHECK(tier->compile(wanted(entry), "an order").status == LookStatus::kBenched);
  CHECK(tier->get(wanted(entry)).status == LookStatus::kAbsent);  // that is no reason not to look
  CHECK_FALSE(tier->stats().benched);

  // Such a server answers for the newest with the entry itself.
  server.store(newest_of(entry), cache::serialize(entry));
  CHECK(tier->get(wanted_by_any(entry)).found());
}

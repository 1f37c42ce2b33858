// SPDX-License-Identifier: Apache-2.0
#include "cache/store.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/manual_clock.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace quantjit::cache {

using std::chrono::seconds;

static std::set<EntryKey> keys_in(CubinStore& store) {
  std::set<EntryKey> keys;
  for (const ListedEntry& entry : store.list()) {
    keys.insert(entry.key);
  }
  return keys;
}

/// A store with entries 0 to 9, published a second after each other.
static std::unique_ptr<CubinStore> filled(const StoreOptions& options, ManualClock& clock) {
  auto store = std::make_unique<CubinStore>(options);
  for (std::uint64_t i = 0; i < 10; ++i) {
    const Entry entry = make_entry(i, 10000);
    const std::string path = store->publish(entry).path;
    CHECK(posix_file_system().set_modified(path, clock.since_epoch()) == 0);
    clock.advance(seconds(1));
  }
  return store;
}

TEST_CASE("Eviction: the least recently used go first, pinned ones never", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  ManualClock clock;
  StoreOptions options = options_for({directory / "root"}, warnings);
  options.clock = &clock;
  const std::unique_ptr<CubinStore> store = filled(options, clock);
  CHECK(store->pin(make_entry(1).key));
  CHECK(store->pin(make_entry(1).key));
  CHECK(store->lookup(make_entry(0).key, make_entry(0).key_text).found());  // used just now
  CHECK(store->pins() == std::vector<EntryKey>{make_entry(1).key});

  const std::uint64_t each = store->stats().bytes / 10;
  const RemovalReport planned = store->evict(7 * each + 100, Execution::kDryRun);
  CHECK(planned.entries == 3);
  CHECK(store->stats().entries == 10);
  const RemovalReport done = store->evict(7 * each + 100, Execution::kReal);
  CHECK(done.entries == 3);
  CHECK(done.paths == planned.paths);
  CHECK(done.kept_bytes == store->stats().bytes);
  const std::set<EntryKey> left = keys_in(*store);
  for (const std::uint64_t gone : {2U, 3U, 4U}) {
    CHECK_FALSE(left.contains(make_entry(gone).key));
  }
  CHECK(left.size() == 7);

  store->evict(0, Execution::kReal);
  CHECK(keys_in(*store) == std::set<EntryKey>{make_entry(1).key});
  CHECK(store->list().at(0).pinned);
  CHECK(store->unpin(make_entry(1).key));
  CHECK_FALSE(store->unpin(make_entry(1).key));
  store->evict(0, Execution::kReal);
  CHECK(store->list().empty());
  CHECK(counter(*store, Counter::kEvicted) == 10);
}

TEST_CASE("Eviction: without a target it runs from the high-water to the low-water mark",
          "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  ManualClock clock;
  StoreOptions options = options_for({directory / "root"}, warnings);
  options.clock = &clock;
  const std::uint64_t bytes = [&] { return filled(options, clock)->stats().bytes; }();
  options.max_bytes = bytes * 2;
  CHECK(CubinStore(options).evict(std::nullopt, Execution::kReal).entries == 0);
  options.max_bytes = bytes + 1000;  // nearly full, so above 95 percent
  CubinStore store(options);
  CHECK(store.evict(std::nullopt, Execution::kReal).entries == 2);
  CHECK(store.stats().bytes <= options.max_bytes / 100 * 80);
}

TEST_CASE("Eviction: publishing keeps a root within its limit", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  StoreOptions options = options_for({directory / "root"}, warnings);
  options.max_bytes = 1000000;
  CubinStore store(options);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Entry entry = make_entry(i, 20000);
    REQUIRE(store.publish(entry).status == PublishStatus::kPublished);
    REQUIRE(store.lookup(entry.key, entry.key_text).found());
  }
  CHECK(store.stats().bytes <= 1000000);
  CHECK(store.stats().bytes >= 700000);
  CHECK(counter(store, Counter::kEvicted) >= 140);
}

TEST_CASE("Eviction: 0 is no limit", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  StoreOptions options = options_for({directory / "root"}, warnings);
  options.max_bytes = 0;
  CubinStore store(options);
  for (std::uint64_t i = 0; i < 20; ++i) {
    store.publish(make_entry(i));
  }
  CHECK(store.evict(std::nullopt, Execution::kReal).entries == 0);
  CHECK(store.list().size() == 20);
}

TEST_CASE("Eviction: the number of entries is limited too, so that shards stay small", "[cache]") {
  constexpr std::size_t kShards = 256;
  CHECK(StoreOptions().max_entries / kShards <= 4096 / 2);
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  StoreOptions options = options_for({directory / "root"}, warnings);
  options.max_bytes = 0;
  options.max_entries = 500;
  CubinStore store(options);
  std::size_t most = 0;
  for (std::uint64_t i = 0; i < 1500; ++i) {
    REQUIRE(store.publish(make_entry(i, 10)).status == PublishStatus::kPublished);
    if (i % 50 == 0) {
      most = std::max(most, store.list().size());
    }
  }
  CHECK(most <= 510);
  CHECK(store.list().size() >= 400);
  CHECK(keys_in(store).contains(make_entry(1499).key));
}

TEST_CASE("Eviction: 4 writing processes stay within the limit; hot and pinned entries stay",
          "[cache]") {
  constexpr std::uint64_t kLimit = 10'000'000;
  constexpr std::uint64_t kEach = 50000;
  constexpr std::uint64_t kHot = 100000;     // seeds of the hot set
  constexpr std::uint64_t kPinned = 200000;  // and of the pinned ones
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  StoreOptions options = options_for({directory / "root"}, warnings);
  options.max_bytes = kLimit;
  CubinStore store(options);
  for (std::uint64_t i = 0; i < 5; ++i) {
    store.publish(make_entry(kPinned + i, kEach));
    CHECK(store.pin(make_entry(kPinned + i).key));
  }
  for (std::uint64_t i = 0; i < 20; ++i) {
    store.publish(make_entry(kHot + i, kEach));
  }
  ChildProcess reader(
      {"use", directory / "root", std::to_string(kHot), "20", std::to_string(kEach)});
  REQUIRE(reader.read_line() == "started");
  std::vector<ChildProcess> writers;
  writers.reserve(4);
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back(std::vector<std::string>{"publish", directory / "root",
                                                  std::to_string(i * 1000), "500",
                                                  std::to_string(kEach), std::to_string(kLimit)});
  }
  for (ChildProcess& writer : writers) {
    CHECK(writer.read_line() == "500");
    CHECK(writer.wait() == 0);
  }
  reader.release();
  CHECK(reader.read_line() == "0");  // no reader ever saw a wrong or damaged entry
  CHECK(reader.wait() == 0);

  CHECK(store.stats().bytes <= kLimit + kLimit / 10);
  CHECK(store.stats().bytes >= kLimit / 2);
  const std::set<EntryKey> left = keys_in(store);
  for (std::uint64_t i = 0; i < 5; ++i) {
    CHECK(left.contains(make_entry(kPinned + i).key));
  }
  for (std::uint64_t i = 0; i < 20; ++i) {
    CHECK(left.contains(make_entry(kHot + i).key));
  }
  CHECK(store.verify().bad.empty());
  CHECK(leftovers_below(directory.path()).empty());
  std::map<std::string, int> shard_sizes;
  for (const ListedEntry& entry : store.list()) {
    CHECK(++shard_sizes[entry.key.request.substr(0, 2)] < 4096);
  }
}

TEST_CASE("Eviction: temporary files are swept by age and not before", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  ManualClock clock;
  clock.jump_time_of_day(system_clock().since_epoch() - clock.since_epoch());
  StoreOptions options = options_for({directory / "root"}, warnings);
  options.clock = &clock;
  CubinStore store(options);
  const std::string path = store.publish(make_entry(1)).path;
  const std::string temporary = path.substr(0, path.rfind('/')) + "/.tmp-left-by-a-dead-process";
  write_file(temporary, "half");
  store.evict(std::nullopt, Execution::kReal);
  CHECK(std::filesystem::exists(temporary));
  clock.advance(std::chrono::minutes(61));
  store.evict(std::nullopt, Execution::kDryRun);
  CHECK(std::filesystem::exists(temporary));
  store.evict(std::nullopt, Execution::kReal);
  CHECK_FALSE(std::filesystem::exists(temporary));
  CHECK(counter(store, Counter::kSweptTemporary) == 1);
  CHECK(std::filesystem::exists(path));
}

}  // namespace quantjit::cache

// SPDX-License-Identifier: Apache-2.0
#include "cache/store.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <set>
#include <sys/stat.h>
#include <thread>

namespace quantjit::cache {

using test::ContainsSubstring;

TEST_CASE("CubinStore: a published entry is found by this and any later store", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const Entry entry = make_entry(1, 20000);
  {
    CubinStore store(options_for({directory / "a/b/root"}, warnings));
    const LookupResult before = store.lookup(entry.key, entry.key_text);
    CHECK(before.status == LookupStatus::kAbsent);
    CHECK_FALSE(std::filesystem::exists(directory / "a"));
    const PublishOutcome outcome = store.publish(entry);
    REQUIRE(outcome.status == PublishStatus::kPublished);
    CHECK(outcome.path == (directory / "a/b/root/v1/") + entry.key.request.substr(0, 2) + "/" +
                              entry.key.file_name());
    const LookupResult after = store.lookup(entry.key, entry.key_text);
    REQUIRE(after.found());
    CHECK(same_entry(*after.entry, entry));
    CHECK(after.path == outcome.path);
    CHECK(counter(store, Counter::kMisses) == 1);
    CHECK(counter(store, Counter::kHits) == 1);
    CHECK(counter(store, Counter::kPublished) == 1);
  }
  CubinStore later(options_for({directory / "a/b/root"}, warnings));
  CHECK(later.lookup(entry.key, entry.key_text).found());
  CHECK(later.verify().checked == 1);
  CHECK(later.verify().bad.empty());
  CHECK(leftovers_below(directory.path()).empty());
  CHECK(warnings.count() == 0);
}

TEST_CASE("CubinStore: files are 0600 and directories 0700 under any umask", "[cache]") {
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{0777}}) {
    const TemporaryDirectory directory;
    CaughtWarnings warnings;
    const mode_t before = ::umask(mask);
    {
      CubinStore store(options_for({directory / "x/root"}, warnings));
      store.publish(make_entry(1));
      store.pin(make_entry(1).key);
      const LeaseAttempt attempt = store.acquire_lease(make_entry(2).key);
      CHECK(attempt.status == LeaseStatus::kAcquired);
      for (const std::string& path : files_below(directory.path())) {
        INFO(path << " under umask " << mask);
        CHECK(mode_of(path) == 0600);
      }
    }
    ::umask(before);
    for (const auto& item : std::filesystem::recursive_directory_iterator(directory.path())) {
      INFO(item.path() << " under umask " << mask);
      CHECK(mode_of(item.path().string()) == (item.is_directory() ? 0700U : 0600U));
    }
    CHECK(warnings.count() == 0);
  }
}

TEST_CASE("CubinStore: the root carries the tag that backup programs look for", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  store.publish(make_entry(1));
  CHECK(read_all(directory / "root/CACHEDIR.TAG")
            .starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"));
}

TEST_CASE("CubinStore: two key texts under one file name are never taken for each other",
          "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  const Entry entry = make_entry(1);
  store.publish(entry);
  const LookupResult other = store.lookup(entry.key, entry.key_text + "another");
  CHECK(other.status == LookupStatus::kRejected);
  CHECK_THAT(other.reason, ContainsSubstring("key text"));
  CHECK(warnings.count() == 1);
}

TEST_CASE("CubinStore: without a compiler the newest toolchain's entry is taken", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "upper", directory / "lower"}, warnings));
  const Entry base = make_entry(1);
  const Entry old = with_toolchain(base, 1, 12008);
  const Entry newest = with_toolchain(base, 2, 13001);
  const Entry middle = with_toolchain(base, 3, 13000);
  CHECK(store.lookup_any_toolchain(base.key.request, base.key_text).status ==
        LookupStatus::kAbsent);
  store.publish(old);
  store.publish(middle);
  {
    CubinStore lower(options_for({directory / "lower"}, warnings));
    lower.publish(newest);
  }
  const LookupResult found = store.lookup_any_toolchain(base.key.request, base.key_text);
  REQUIRE(found.found());
  CHECK(same_entry(*found.entry, newest));
  CHECK(counter(store, Counter::kHitsAnyToolchain) == 1);

  // A newest one that is damaged leaves the next.
  CHECK(store.remove(newest.key));
  write_file(
      (directory / "lower/v1/") + newest.key.request.substr(0, 2) + "/" + newest.key.file_name(),
      serialize(newest).substr(0, 300));
  const LookupResult second = store.lookup_any_toolchain(base.key.request, base.key_text);
  REQUIRE(second.found());
  CHECK(same_entry(*second.entry, middle));
}

TEST_CASE("CubinStore: peek shows an entry and changes nothing", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  const Entry entry = make_entry(1);
  CHECK(store.peek(entry.key).status == LookupStatus::kAbsent);
  const std::string path = store.publish(entry).path;
  REQUIRE(store.peek(entry.key).found());
  CHECK(store.peek(entry.key).path == path);
  write_file(path, "damage");
  CHECK(store.peek(entry.key).status == LookupStatus::kRejected);
  CHECK(std::filesystem::exists(path));
  CHECK(counter(store, Counter::kHits) == 0);
  CHECK(warnings.count() == 0);
}

TEST_CASE("CubinStore: list, heads, remove and clear agree on what is there", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  std::set<std::string> texts;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    store.publish(make_entry(i, 100 * i));
    texts.insert(make_entry(i).key_text);
    bytes += serialize(make_entry(i, 100 * i)).size();
  }
  CHECK(store.list().size() == 40);
  std::set<std::string> listed;
  for (const ListedHead& head : store.list_heads()) {
    listed.insert(head.head.key_text);
    CHECK(head.head.toolchain_rank == 13000);
  }
  CHECK(listed == texts);
  CHECK(store.stats().entries == 40);
  CHECK(store.stats().bytes == bytes);

  CHECK(store.remove(make_entry(0).key));
  CHECK_FALSE(store.remove(make_entry(0).key));
  const RemovalReport planned = store.clear(Execution::kDryRun);
  CHECK(planned.entries == 39);
  CHECK(store.list().size() == 39);
  const RemovalReport done = store.clear(Execution::kReal);
  CHECK(done.entries == 39);
  CHECK(done.bytes == planned.bytes);
  CHECK(done.kept_bytes == 0);
  CHECK(store.list().empty());
  CHECK(store.publish(make_entry(1)).status == PublishStatus::kPublished);
}

TEST_CASE("CubinStore: a store whose directory is deleted goes on", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  const Entry entry = make_entry(1);
  store.publish(entry);
  std::filesystem::remove_all(directory / "root");
  CHECK(store.lookup(entry.key, entry.key_text).status == LookupStatus::kAbsent);
  CHECK(store.publish(entry).status == PublishStatus::kPublished);
  CHECK(store.lookup(entry.key, entry.key_text).found());
  CHECK(mode_of(directory / "root") == 0700);
  CHECK(warnings.count() == 0);
}

TEST_CASE("CubinStore: a reader never sees half an entry", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  const Entry entry = make_entry(1, 200000);
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        const LookupResult found = store.lookup(entry.key, entry.key_text);
        wrong += found.status == LookupStatus::kRejected ||
                         (found.found() && !same_entry(*found.entry, entry))
                     ? 1
                     : 0;
      }
    });
  }
  for (int i = 0; i < 60; ++i) {
    store.publish(entry);
    store.remove(entry.key);
  }
  done = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
  CHECK(wrong == 0);
  CHECK(warnings.count() == 0);
}

}  // namespace quantjit::cache

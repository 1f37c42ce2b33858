// SPDX-License-Identifier: Apache-2.0
#include "cache/counter_log.hpp"
#include "cache/store.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"

#include <set>
#include <thread>

namespace quantjit::cache {

static std::uint64_t accumulated(CubinStore& store, Counter which) {
  return store.stats().accumulated[static_cast<std::size_t>(which)];
}

TEST_CASE("Counters: numbers on disk do not change", "[cache]") {
  CHECK(counter_name(0) == "hits");
  CHECK(counter_name(1) == "misses");
  CHECK(counter_name(3) == "published");
  CHECK(counter_name(6) == "rejected");
  CHECK(counter_name(10) == "evicted");
  CHECK(counter_name(15) == "lease_taken_over");
  CHECK(counter_name(32) == "error_eexist");
  CHECK(counter_name(41) == "error_other");
  CHECK(counter_name(31).empty());
  CHECK(counter_name(1000).empty());
  std::set<std::string_view> names;
  std::size_t used = 0;
  for (std::size_t number = 0; number < kCounterSlots; ++number) {
    if (!counter_name(number).empty()) {
      names.insert(counter_name(number));
      ++used;
    }
  }
  CHECK(names.size() == used);
}

TEST_CASE("Counters: their files are read whole or not at all", "[cache]") {
  CounterValues values{};
  values[0] = 7;
  values[41] = 12345678901234567890ULL;
  const std::string text = format_counters(values);
  CHECK(text == "quantjit-counters 1\n0 7\n41 12345678901234567890\nend\n");
  CounterValues sum{};
  CHECK(add_counters(text, sum));
  CHECK(sum == values);
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    CounterValues untouched{};
    CHECK_FALSE(add_counters(std::string_view(text).substr(0, size), untouched));
    CHECK(untouched == CounterValues{});
  }
  CHECK(add_counters("quantjit-counters 1\n63 1\n64 1\n999 1\nend\n", sum));  // later ones
  CHECK(sum[63] == 1);
  CHECK_FALSE(add_counters("quantjit-counters 1\n0 x\nend\n", sum));
  CHECK_FALSE(add_counters("quantjit-counters 2\nend\n", sum));
}

TEST_CASE("Counters: they add up over stores, threads and flushes", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const Entry entry = make_entry(1);
  CubinStore(options_for({directory / "root"}, warnings)).publish(entry);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 25; ++round) {
        CubinStore store(options_for({directory / "root"}, warnings));
        static_cast<void>(store.lookup(entry.key, entry.key_text));
        store.flush_counters();
        static_cast<void>(store.lookup(make_entry(2).key, ""));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CubinStore store(options_for({directory / "root"}, warnings));
  CHECK(accumulated(store, Counter::kHits) == 100);
  CHECK(accumulated(store, Counter::kMisses) == 100);
  CHECK(accumulated(store, Counter::kPublished) == 1);
  static_cast<void>(store.lookup(entry.key, entry.key_text));
  CHECK(accumulated(store, Counter::kHits) == 101);
  CHECK(counter(store, Counter::kHits) == 1);
  CHECK(files_below(directory / "root/v1/counters").size() <= 17 + 4);
}

TEST_CASE("Counters: only looking creates no root", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  {
    CubinStore store(options_for({directory / "root"}, warnings));
    static_cast<void>(store.lookup(make_entry(1).key, ""));
    static_cast<void>(store.stats());
    static_cast<void>(store.list());
    static_cast<void>(store.evict(0, Execution::kReal));
    static_cast<void>(store.clear(Execution::kReal));
  }
  CHECK(files_below(directory.path()).empty());
  CHECK(mode_of(directory / "root") == ~0U);
}

}  // namespace quantjit::cache

// SPDX-License-Identifier: Apache-2.0
#include "src/remote/alias.hpp"
#include "src/remote/breaker.hpp"
#include "src/remote/rendezvous.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/manual_clock.hpp"

#include <map>
#include <optional>
#include <thread>
#include <vector>

using namespace quantjit;
using namespace quantjit::remote;
using cache::ManualClock;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr BreakerTimings kPlain{.first_pause = seconds(1), .last_pause = seconds(60), .jitter = 0};

}  // namespace

TEST_CASE("Breaker: it opens at the first failure and lets nobody through until the pause ends",
          "[remote]") {
  ManualClock clock;
  Breaker breaker(clock, kPlain, 1);
  CHECK_FALSE(breaker.open());
  CHECK_FALSE(breaker.enter().succeeded());  // as before: no news
  CHECK(breaker.enter().failed());
  CHECK(breaker.open());
  CHECK_FALSE(breaker.enter());
  clock.advance(milliseconds(999));
  CHECK_FALSE(breaker.enter());
  clock.advance(milliseconds(1));
  CHECK_FALSE(breaker.open());
}

TEST_CASE("Breaker: after the pause one caller probes; its success closes, its failure doubles",
          "[remote]") {
  ManualClock clock;
  Breaker breaker(clock, kPlain, 1);
  CHECK(breaker.enter().failed());
  for (const int pause : {1, 2, 4, 8, 16, 32, 60, 60}) {
    INFO(pause);
    clock.advance(seconds(pause) - milliseconds(1));
    CHECK_FALSE(breaker.enter());
    clock.advance(milliseconds(1));
    Breaker::Pass probe = breaker.enter();
    REQUIRE(probe);
    CHECK_FALSE(breaker.enter());  // one at a time
    CHECK_FALSE(probe.failed());   // no news
    CHECK_FALSE(breaker.enter());
  }
  clock.advance(seconds(60));
  CHECK(breaker.enter().succeeded());
  CHECK(breaker.enter());
  CHECK(breaker.enter().failed());  // and the pauses begin short again
  clock.advance(seconds(1));
  CHECK_FALSE(breaker.open());
}

TEST_CASE("Breaker: a probe that is given up leaves the next caller to probe", "[remote]") {
  ManualClock clock;
  Breaker breaker(clock, kPlain, 1);
  CHECK(breaker.enter().failed());
  clock.advance(seconds(1));
  {
    const Breaker::Pass given_up = breaker.enter();
    REQUIRE(given_up);
  }
  CHECK(breaker.enter().succeeded());
}

TEST_CASE("Breaker: calls that began before it opened neither lengthen the pause nor close it",
          "[remote]") {
  ManualClock clock;
  Breaker breaker(clock, kPlain, 1);
  std::vector<Breaker::Pass> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back(breaker.enter());
  }
  int news = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    news += calls[i].failed() ? 1 : 0;
  }
  CHECK(news == 1);
  calls[7].succeeded();
  CHECK(breaker.open());
  clock.advance(seconds(1));
  CHECK_FALSE(breaker.open());
}

TEST_CASE("Breaker: pauses differ between members of a fleet, within the jitter", "[remote]") {
  ManualClock clock;
  std::map<std::int64_t, int> pauses;
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    Breaker breaker(clock, {}, seed);
    CHECK(breaker.enter().failed());
    const auto begin = clock.since_boot();
    while (breaker.open()) {
      clock.advance(milliseconds(1));
    }
    const auto pause = std::chrono::duration_cast<milliseconds>(clock.since_boot() - begin);
    CHECK(pause >= milliseconds(799));
    CHECK(pause <= milliseconds(1201));
    ++pauses[pause.count()];
  }
  CHECK(pauses.size() > 10);
}

TEST_CASE("Breaker: of many threads one probes", "[remote]") {
  ManualClock clock;
  Breaker breaker(clock, kPlain, 1);
  CHECK(breaker.enter().failed());
  clock.advance(seconds(1));
  std::atomic<int> probes{0};
  std::atomic<int> asked{0};
  const auto ask = [&] {
    Breaker::Pass pass = breaker.enter();
    probes += pass ? 1 : 0;
    for (++asked; asked < 8;) {  // nobody is done before all have asked
      std::this_thread::yield();
    }
    pass.failed();
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back(ask);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(probes == 1);
  CHECK(breaker.open());
}

TEST_CASE("choose_shard: all machines agree, the load is even, and little moves", "[remote]") {
  const std::vector<std::string> servers = {"redis://a:1", "redis://b:1", "redis://c:1"};
  const std::vector<std::string> reversed(servers.rbegin(), servers.rend());
  const std::vector<std::string> more = {"redis://a:1", "redis://b:1", "redis://c:1",
                                         "redis://d:1"};
  std::map<std::string, int> load;
  int moved = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string request = "request " + std::to_string(i);
    const std::string& chosen = servers[choose_shard(servers, request)];
    CHECK(reversed[choose_shard(reversed, request)] == chosen);
    ++load[chosen];
    const std::string& then = more[choose_shard(more, request)];
    if (then != chosen) {
      ++moved;
      CHECK(then == "redis://d:1");
    }
  }
  for (const std::string& server : servers) {
    INFO(server);
    CHECK(load[server] > 850);
    CHECK(load[server] < 1150);
  }
  CHECK(moved > 600);
  CHECK(moved < 900);
  CHECK(choose_shard({"one"}, "any") == 0);
}

TEST_CASE("Alias: what it writes it reads, and nothing else", "[remote]") {
  const Alias alias{13000, "0123456789abcdef"};
  CHECK(to_text(alias) == "qj-latest 1 13000 0123456789abcdef\n");
  CHECK(parse_alias(to_text(alias)) == alias);
  for (const std::string text :
       {"", "qj-latest 1 ", "qj-latest 1 13000", "qj-latest 1 13000 0123456789abcdef",
        "qj-latest 2 13000 0123456789abcdef\n", "qj-latest 1 013000 0123456789abcdef\n",
        "qj-latest 1 -1 0123456789abcdef\n", "qj-latest 1 99999999999 0123456789abcdef\n",
        "qj-latest 1 13000  123456789abcdef\n", "qj-latest 1 13000 0123456789ABCDEF\n",
        "qj-latest 1 13000 ../../../etc/pass\n", "qj-latest 1 13000 0123456789abcdef\n\n"}) {
    INFO(text);
    CHECK(parse_alias(text) == std::nullopt);
  }
}

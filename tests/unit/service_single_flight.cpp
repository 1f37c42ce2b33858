// SPDX-License-Identifier: Apache-2.0
#include "src/service/single_flight.hpp"
#include "src/service/target.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <barrier>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using quantjit::Arch;
using quantjit::service::newest_ptx_target;
using quantjit::service::SingleFlight;

TEST_CASE("SingleFlight: threads that ask while one produces get its result", "[service]") {
  constexpr int kThreads = 8;
  SingleFlight<std::string, int> flight;
  std::atomic<int> produced{0};
  std::atomic<int> waiting{0};
  std::vector<int> results(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        results[static_cast<std::size_t>(i)] = flight.run(
            "key",
            [&] {
              ++produced;
              while (waiting.load() < kThreads - 1) {
                std::this_thread::yield();
              }
              return 42;
            },
            [&] { ++waiting; });
      });
    }
  }
  CHECK(produced == 1);
  CHECK(results == std::vector<int>(kThreads, 42));
}

TEST_CASE("SingleFlight: a failure reaches every waiter and is not remembered", "[service]") {
  SingleFlight<int, int> flight;
  std::atomic<int> waiting{0};
  std::atomic<int> failures{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        try {
          flight.run(
              1,
              [&]() -> int {
                while (waiting.load() < 3) {
                  std::this_thread::yield();
                }
                throw std::runtime_error("no");
              },
              [&] { ++waiting; });
        } catch (const std::runtime_error&) {
          ++failures;
        }
      });
    }
  }
  CHECK(failures == 4);
  CHECK(flight.run(
            1, [] { return 7; }, [] {}) == 7);
}

TEST_CASE("SingleFlight: different keys run at the same time", "[service]") {
  SingleFlight<int, int> flight;
  std::barrier both(2);
  const auto produce = [&] {
    both.arrive_and_wait();  // only passes if the other key's producer runs too
    return 1;
  };
  std::jthread other([&] { flight.run(1, produce, [] {}); });
  CHECK(flight.run(2, produce, [] {}) == 1);
}

TEST_CASE("newest_ptx_target: the highest plain target that is not above the device", "[service]") {
  const std::vector<Arch> supported = {Arch::parse("sm_90"),  Arch::parse("sm_90a"),
                                       Arch::parse("sm_100"), Arch::parse("sm_100f"),
                                       Arch::parse("sm_120"), Arch::parse("sm_120a")};
  CHECK(newest_ptx_target({13, 0, 'a'}, supported) == Arch::parse("sm_120"));
  CHECK(newest_ptx_target({10, 3, 'a'}, supported) == Arch::parse("sm_100"));
  CHECK(newest_ptx_target({9, 0, 'a'}, supported) == Arch::parse("sm_90"));
  CHECK_FALSE(newest_ptx_target({9, 0, 'a'}, {Arch::parse("sm_100")}).has_value());
}

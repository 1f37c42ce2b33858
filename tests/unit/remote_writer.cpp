// SPDX-License-Identifier: Apache-2.0
#include "src/remote/writer.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace quantjit::remote;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kLong = std::chrono::minutes(5);

/// A task that says when it runs, and ends when it is told to.
class Gate {
 public:
  Writer::Task task() {
    return [this](const TaskTurn& turn) {
      if (!turn.abandoned) {
        begun_.set_value();
        end_.get_future().wait();
      }
    };
  }

  void wait_until_begun() { begun_.get_future().wait(); }

  void open() { end_.set_value(); }

 private:
  std::promise<void> begun_;
  std::promise<void> end_;
};

}  // namespace

TEST_CASE("Writer: tasks run in order, in another thread, and flush waits for them", "[remote]") {
  std::vector<int> done;
  const std::thread::id here = std::this_thread::get_id();
  bool elsewhere = true;
  Writer writer;
  CHECK(writer.flush(milliseconds(0)));
  for (int i = 0; i < 100; ++i) {
    CHECK(writer.submit(1, [&, i](const TaskTurn& turn) {
      elsewhere = elsewhere && std::this_thread::get_id() != here && !turn.abandoned &&
                  turn.deadline == std::chrono::steady_clock::time_point::max();
      done.push_back(i);
    }));
  }
  CHECK(writer.flush(kLong));
  REQUIRE(done.size() == 100);
  CHECK(std::is_sorted(done.begin(), done.end()));
  CHECK(elsewhere);
}

TEST_CASE("Writer: what does not fit into the queue is refused and not called", "[remote]") {
  Gate gate;
  std::atomic<int> called{0};
  const auto count = [&](const TaskTurn&) { ++called; };
  Writer writer({.tasks = 3, .bytes = 100});
  REQUIRE(writer.submit(40, gate.task()));
  gate.wait_until_begun();
  CHECK_FALSE(writer.submit(61, count));  // the task under way holds its memory
  CHECK(writer.submit(60, count));
  CHECK_FALSE(writer.submit(1, count));
  CHECK(writer.submit(0, count));
  CHECK(writer.submit(0, count));
  CHECK_FALSE(writer.submit(0, count));
  gate.open();
  CHECK(writer.flush(kLong));
  CHECK(called == 3);
  CHECK(writer.submit(100, count));  // there is room again
  CHECK(writer.flush(kLong));
  CHECK(called == 4);
}

TEST_CASE("Writer: whoever waits for room loses nothing", "[remote]") {
  std::atomic<int> called{0};
  Writer writer({.tasks = 4, .bytes = 100});
  for (int i = 0; i < 1000; ++i) {
    writer.wait_for_room();
    REQUIRE(writer.submit(20, [&](const TaskTurn&) { ++called; }));
  }
  CHECK(writer.flush(kLong));
  CHECK(called == 1000);
  CHECK(writer.close(kLong));
  writer.wait_for_room();  // there is nothing to wait for any more
}

TEST_CASE("Writer: flush gives up at its limit, and nothing is lost by that", "[remote]") {
  Gate gate;
  std::atomic<int> called{0};
  Writer writer;
  REQUIRE(writer.submit(1, gate.task()));
  REQUIRE(writer.submit(1, [&](const TaskTurn&) { ++called; }));
  CHECK_FALSE(writer.flush(milliseconds(1)));
  CHECK_FALSE(writer.flush(milliseconds(-5)));
  CHECK(called == 0);
  gate.open();
  CHECK(writer.flush(milliseconds::max()));
  CHECK(called == 1);
}

TEST_CASE("Writer: closing lets the queue run dry, then abandons it", "[remote]") {
  SECTION("in time") {
    std::atomic<int> called{0};
    Writer writer;
    for (int i = 0; i < 50; ++i) {
      REQUIRE(writer.submit(1, [&](const TaskTurn& turn) { called += turn.abandoned ? 0 : 1; }));
    }
    CHECK(writer.close(kLong));
    CHECK(called == 50);
    CHECK_FALSE(writer.submit(1, [&](const TaskTurn&) { ++called; }));
    CHECK(writer.close(kLong));
    CHECK(called == 50);
  }
  SECTION("too late") {
    Gate gate;
    std::atomic<int> abandoned{0};
    Writer writer;
    REQUIRE(writer.submit(1, gate.task()));
    gate.wait_until_begun();
    for (int i = 0; i < 5; ++i) {
      REQUIRE(writer.submit(1, [&](const TaskTurn& turn) {
        abandoned += turn.abandoned ? 1 : 0;
        if (abandoned == 5) {
          gate.open();  // the task under way is waited for: it ends only now
        }
      }));
    }
    CHECK_FALSE(writer.close(milliseconds(1)));
    CHECK(abandoned == 5);
  }
  SECTION("tasks that begin while it is closed learn the limit") {
    Gate gate;
    std::promise<TaskTurn> seen;
    Writer writer({.tasks = std::size_t{1} << 40, .bytes = 1000});
    REQUIRE(writer.submit(1, gate.task()));
    gate.wait_until_begun();
    REQUIRE(writer.submit(1, [&](const TaskTurn& turn) { seen.set_value(turn); }));
    std::future<bool> closed = std::async(std::launch::async, [&] { return writer.close(kLong); });
    // Closed is when it refuses.
    while (writer.submit(0, [](const TaskTurn&) {})) {
      std::this_thread::yield();
    }
    gate.open();
    CHECK(closed.get());
    const TaskTurn turn = seen.get_future().get();
    CHECK_FALSE(turn.abandoned);
    CHECK(turn.deadline < std::chrono::steady_clock::now() + 2 * kLong);
  }
}

TEST_CASE("Writer: many threads may submit and flush", "[remote]") {
  std::atomic<int> called{0};
  int accepted = 0;
  {
    Writer writer({.tasks = 16, .bytes = 1000});
    std::vector<std::future<int>> threads;
    for (int t = 0; t < 4; ++t) {
      threads.push_back(std::async(std::launch::async, [&] {
        int mine = 0;
        for (int i = 0; i < 200; ++i) {
          mine += writer.submit(10, [&](const TaskTurn&) { ++called; }) ? 1 : 0;
          if (i % 50 == 0) {
            static_cast<void>(writer.flush(kLong));
          }
        }
        return mine;
      }));
    }
    for (std::future<int>& thread : threads) {
      accepted += thread.get();
    }
  }
  CHECK(called == accepted);  // each was called once, if only to be told that it is abandoned
  CHECK(accepted >= 16);
}

TEST_CASE("Writer: in a forked child it does nothing and does not hang", "[remote]") {
  Gate gate;
  auto writer = std::make_unique<Writer>();
  REQUIRE(writer->submit(1, gate.task()));
  gate.wait_until_begun();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool right =
        !writer->submit(1, [](const TaskTurn&) {}) && writer->flush(kLong) && writer->close(kLong);
    writer.reset();
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  gate.open();
  CHECK(writer->flush(kLong));
}

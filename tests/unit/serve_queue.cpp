// SPDX-License-Identifier: Apache-2.0
// Who waits for what in a compile service.
#include "src/serve/compile_queue.hpp"
#include "tests/support/catch.hpp"

#include <future>
#include <latch>
#include <thread>
#include <vector>

using quantjit::serve::CompileQueue;
using quantjit::serve::Done;
using quantjit::serve::Reply;
using Turn = CompileQueue::Turn;
using Waits = CompileQueue::Waits;

namespace {

Reply reply_of(unsigned status) {
  Reply reply;
  reply.status = status;
  reply.body = std::make_shared<const std::string>();
  return reply;
}

/// Counts answers by status.
struct Answers {
  Done done() {
    return [this](const Reply& reply) { (reply.status == 200 ? good : other).fetch_add(1); };
  }

  std::atomic<int> good{0};
  std::atomic<int> other{0};
};

/// Work that begins, and ends when it is told to.
struct Gate {
  CompileQueue::Work work() {
    return [this] {
      begun.count_down();
      open.wait();
      return reply_of(200);
    };
  }

  std::latch begun{1};
  std::latch open{1};
};

CompileQueue::Work quick() {
  return [] { return reply_of(200); };
}

}  // namespace

TEST_CASE("CompileQueue: what others wait for is not put behind what waits for others", "[serve]") {
  Answers answers;
  Gate gate;
  CompileQueue queue(1, 8);
  REQUIRE(queue.submit("a", Waits::kForOthers, gate.work(), answers.done()) == Turn::kNew);
  gate.begun.wait();
  CHECK(queue.submit("a", Waits::kForOthers, quick(), answers.done()) == Turn::kJoined);
  CHECK(queue.submit("b", Waits::kForOthers, quick(), answers.done()) == Turn::kNew);
  CHECK(queue.submit("a", Waits::kForNobody, quick(), answers.done()) == Turn::kFull);
  CHECK(queue.submit("b", Waits::kForNobody, quick(), answers.done()) == Turn::kFull);
  CHECK(queue.submit("c", Waits::kForNobody, quick(), answers.done()) == Turn::kFull);
  gate.open.count_down();
}

TEST_CASE("CompileQueue: a key is worked on once, and all who asked are answered", "[serve]") {
  Answers answers;
  Gate gate;
  {
    CompileQueue queue(1, 1);
    REQUIRE(queue.submit("a", Waits::kForNobody, gate.work(), answers.done()) == Turn::kNew);
    gate.begun.wait();
    for (int i = 0; i < 10; ++i) {
      CHECK(queue.submit("a", Waits::kForNobody, quick(), answers.done()) == Turn::kJoined);
    }
    CHECK(queue.submit("b", Waits::kForNobody, quick(), answers.done()) == Turn::kNew);
    CHECK(queue.submit("b", Waits::kForNobody, quick(), answers.done()) == Turn::kJoined);
    CHECK(queue.submit("c", Waits::kForNobody, quick(), answers.done()) == Turn::kFull);
    CHECK(queue.load().running == 1);
    CHECK(queue.load().waiting == 1);
    CHECK(answers.good == 0);
    std::promise<void> last;
    queue.submit("b", Waits::kForNobody, quick(), [&](const Reply&) { last.set_value(); });
    gate.open.count_down();
    last.get_future().wait();
  }
  CHECK(answers.good == 13);
  CHECK(answers.other == 0);
}

TEST_CASE("CompileQueue: closed, it answers all who wait and takes nobody", "[serve]") {
  Answers answers;
  Gate gate;
  CompileQueue queue(1, 10);
  REQUIRE(queue.submit("a", Waits::kForNobody, gate.work(), answers.done()) == Turn::kNew);
  gate.begun.wait();
  REQUIRE(queue.submit("a", Waits::kForNobody, quick(), answers.done()) == Turn::kJoined);
  REQUIRE(queue.submit("b", Waits::kForNobody, quick(), answers.done()) == Turn::kNew);
  queue.close(reply_of(503));
  CHECK(answers.other == 3);
  CHECK(answers.good == 0);
  CHECK(queue.submit("a", Waits::kForNobody, quick(), answers.done()) == Turn::kClosed);
  CHECK(queue.load().running == 1);
  gate.open.count_down();
}

TEST_CASE("CompileQueue: nobody is forgotten when many ask and it is closed amid them", "[serve]") {
  constexpr int kThreads = 8;
  constexpr int kEach = 2000;
  Answers answers;
  std::atomic<int> refused{0};
  std::atomic<int> asked{0};
  {
    CompileQueue queue(3, 16);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          const Turn turn = queue.submit(std::to_string((i * (t + 1)) % 37), Waits::kForNobody,
                                         quick(), answers.done());
          asked.fetch_add(1);
          refused.fetch_add(turn == Turn::kFull || turn == Turn::kClosed ? 1 : 0);
        }
      });
    }
    threads.emplace_back([&] {
      while (asked.load() < kThreads * kEach / 2 || answers.good.load() == 0) {
        std::this_thread::yield();
      }
      queue.close(reply_of(503));
    });
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  CHECK(answers.good + answers.other + refused == kThreads * kEach);
  CHECK(answers.good > 0);
}

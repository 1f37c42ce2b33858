// SPDX-License-Identifier: Apache-2.0
#include "src/service/worker_pool.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

using quantjit::service::Turn;
using quantjit::service::WorkerPool;

namespace {

/// Lets threads wait for each other.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

}  // namespace

TEST_CASE("WorkerPool: never more tasks at once than it has threads, and all of them run",
          "[service][async]") {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> done{0};
  Gate last;
  WorkerPool pool(3);
  for (int i = 0; i < 200; ++i) {
    pool.submit([&](Turn turn) {
      if (turn == Turn::kRun) {
        const int now = ++inside;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        --inside;
        if (++done == 200) {
          last.open();
        }
      }
    });
  }
  last.pass();
  CHECK(done == 200);
  CHECK(most <= 3);
}

TEST_CASE("WorkerPool: tasks run side by side", "[service][async]") {
  Gate first;
  Gate second;
  WorkerPool pool(2);
  pool.submit([&](Turn) {
    second.open();
    first.pass();
  });
  pool.submit([&](Turn) {
    second.pass();
    first.open();
  });
  first.pass();  // by the second task, which the first one has not ended before
}

TEST_CASE("WorkerPool: the end abandons what waits, and waits for what runs", "[service][async]") {
  Gate started;
  Gate go;
  bool ended = false;
  std::vector<Turn> turns(4, Turn::kRun);
  {
    WorkerPool pool(1);
    pool.submit([&](Turn) {
      started.open();
      go.pass();  // opened by the last task, which gets its turn from the destructor
      ended = true;
    });
    for (std::size_t i = 0; i < turns.size(); ++i) {
      pool.submit([&turns, &go, i](Turn turn) {
        turns[i] = turn;
        if (i + 1 == turns.size()) {
          go.open();
        }
      });
    }
    started.pass();
  }
  CHECK(ended);
  CHECK(turns == std::vector<Turn>(4, Turn::kAbandoned));
}

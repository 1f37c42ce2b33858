// SPDX-License-Identifier: Apache-2.0
// Work that takes long: some at a time, a bounded number waiting, each key once.
#pragma once

#include "src/serve/reply.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace quantjit::serve {

/// Runs work on threads of its own. Those who ask for a key that is waiting or under way get the
/// same answer, and take no place. Thread safe.
class CompileQueue {
 public:
  /// Must not throw.
  using Work = std::function<Reply()>;
  /// Whether work may wait for others, who may wait for this queue.
  enum class Waits : std::uint8_t { kForNobody, kForOthers };
  enum class Turn : std::uint8_t {
    kNew,     ///< the work will be done
    kJoined,  ///< somebody asked for it already
    kFull,    ///< as many wait as may, or it would wait for others; `done` is not called
    kClosed,  ///< after close(); `done` is not called
  };

  /// @param jobs threads, at least 1
  /// @param limit of works that wait
  CompileQueue(int jobs, std::size_t limit);
  CompileQueue(const CompileQueue&) = delete;
  CompileQueue& operator=(const CompileQueue&) = delete;
  /// Answers nobody any more; waits for the work that is under way.
  ~CompileQueue();

  /// Work that waits for nobody is not put behind, and does not join, what waits for others.
  Turn submit(const std::string& key, Waits waits, Work work, Done done);

  /// Takes no more work, drops what waits, and answers all who wait for anything. Works under way
  /// run on, for nobody.
  void close(const Reply& reply);

  struct Load {
    std::size_t waiting = 0;
    std::size_t running = 0;
  };

  [[nodiscard]] Load load() const;

 private:
  struct Flight {
    std::string key;
    Waits waits = Waits::kForNobody;
    Work work;
    std::vector<Done> passengers;
  };

  void run();
  [[nodiscard]] bool any_waits_for_others() const;

  const std::size_t limit_;
  mutable std::mutex mutex_;  // guards everything below; never held while working or answering
  std::condition_variable changed_;
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights_;
  std::deque<std::shared_ptr<Flight>> waiting_;
  std::size_t running_ = 0;
  bool closed_ = false;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace quantjit::serve

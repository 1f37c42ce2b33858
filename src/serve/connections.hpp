// SPDX-License-Identifier: Apache-2.0
// Who is connected, what for, and for how long: so that slow clients cannot keep others out.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace quantjit::serve {

/// What a connection is at.
enum class Phase : std::uint8_t {
  kHead,   ///< between requests, or sending the head of one
  kBody,   ///< sending the body
  kWork,   ///< waiting for an answer; takes as long as it takes
  kReply,  ///< taking the answer
};

/// Ends connections that stay in a phase too long, and the longest idle ones where there are nearly
/// as many as may be. Thread safe.
class Connections {
 public:
  /// @param limit most connections at a time
  /// @param timeout longest time in any phase but kWork
  Connections(std::size_t limit, std::chrono::milliseconds timeout);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  ~Connections();

  /// `socket` must stay open until closed() has returned.
  void opened(const void* connection, int socket);
  void closed(const void* connection);
  void enter(const void* connection, Phase phase);

  /// Ends all that are between requests.
  void end_idle();

  struct Census {
    std::size_t open = 0;
    std::size_t busy = 0;           ///< of them, with a request begun or unread bytes
    std::size_t working = 0;        ///< of them, waiting for an answer
    std::uint64_t opened = 0;       ///< ever
    std::uint64_t timed_out = 0;    ///< ended for being slow
    std::uint64_t crowded_out = 0;  ///< ended to make room
  };

  [[nodiscard]] Census census() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    int socket = -1;
    Phase phase = Phase::kHead;
    Clock::time_point since;
    bool ended = false;
  };

  void watch();
  void end(Connection& connection);
  void make_room();

  const std::size_t limit_;
  const std::chrono::milliseconds timeout_;
  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::unordered_map<const void*, Connection> table_;
  std::uint64_t opened_ = 0;
  std::uint64_t timed_out_ = 0;
  std::uint64_t crowded_out_ = 0;
  bool ending_ = false;
  std::thread watcher_;
};

}  // namespace quantjit::serve

// SPDX-License-Identifier: Apache-2.0
// TCP servers on 127.0.0.1 that answer as a test tells them to, well or badly.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace quantjit::test {

/// One accepted connection. All calls end when the server does.
class LoopbackConnection {
 public:
  explicit LoopbackConnection(int file, const std::atomic<bool>& stopping)
      : file_(file), stopping_(stopping) {}

  /// What comes up to and including `end`, and no more; less if the peer closes.
  std::string read_until(std::string_view end);
  /// That many bytes; fewer if the peer closes.
  std::string read_bytes(std::size_t count);
  /// False if the peer has closed.
  bool write(std::string_view bytes);
  /// One byte at a time with pauses, over and over, until the peer closes. Returns bytes written.
  std::size_t drip(std::string_view bytes);
  /// Reads and drops what comes until the peer closes.
  void wait_for_close();
  /// Lets the peer see the end of the stream.
  void close_writing();
  /// Lets the peer see a reset instead of an end.
  void reset_at_close();

 private:
  int file_;
  const std::atomic<bool>& stopping_;
};

class LoopbackServer {
 public:
  /// `serve` runs once for each connection, each in a thread of its own; the connection is closed
  /// when it returns. `number` counts connections from 0.
  using Serve = std::function<void(LoopbackConnection& connection, int number)>;

  explicit LoopbackServer(Serve serve);
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;
  ~LoopbackServer();

  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// Connections so far.
  [[nodiscard]] int connections() const { return count_; }

 private:
  void accept_all();

  Serve serve_;
  std::uint16_t port_ = 0;  // made known by the line below
  int listener_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> count_ = 0;
  std::vector<std::thread> handlers_;  // of the acceptor, until it has ended
  std::thread acceptor_;
};

/// A port at which no connection is ever answered, not even with a refusal.
class BlackHole {
 public:
  BlackHole();
  BlackHole(const BlackHole&) = delete;
  BlackHole& operator=(const BlackHole&) = delete;
  ~BlackHole();

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  std::vector<int> files_;
  std::uint16_t port_ = 0;
};

/// A port that was free a moment ago, at which nobody listens.
[[nodiscard]] std::uint16_t closed_port();

}  // namespace quantjit::test

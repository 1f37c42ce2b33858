// SPDX-License-Identifier: Apache-2.0
// A connection to a server, in which no call lasts longer than its deadline.
#pragma once

#include "src/remote/deadline.hpp"
#include "src/remote/resolver.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace quantjit::remote {

/// A socket that does not block; closed at the end. Move-only.
class Socket {
 public:
  Socket() = default;

  explicit Socket(int file) : file_(file) {}

  Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

  Socket& operator=(Socket&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }

  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  [[nodiscard]] explicit operator bool() const { return file_ >= 0; }

  [[nodiscard]] int get() const { return file_; }

  /// Waits for poll() events; false if there were none in time.
  [[nodiscard]] bool wait(short events, const Deadline& deadline) const;

 private:
  int file_ = -1;
};

/// Connects to the first address that answers. Empty on failure; `error` receives one phrase.
[[nodiscard]] Socket connect_socket(const Addresses& addresses, const Deadline& deadline,
                                    std::string& error);

/// What goes to the peer and comes from it. Not thread safe. After a failure it is of no more use.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  /// Sends all of `bytes`.
  [[nodiscard]] virtual bool send(std::string_view bytes, const Deadline& deadline) = 0;
  /// Waits for at least one byte. 0: the peer has closed, time is up, or it failed.
  [[nodiscard]] virtual std::size_t receive(std::span<char> into, const Deadline& deadline) = 0;
  /// Whether nothing has come since the last call, not even an end.
  [[nodiscard]] virtual bool quiet() const = 0;

  /// One phrase about the last failure.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Whether the last failure was the peer's end of the connection, not time.
  [[nodiscard]] bool hung_up() const { return hung_up_; }

 protected:
  void fail(std::string error) { error_ = std::move(error); }

  void fail_timed_out();
  void fail_hung_up(std::string error);

 private:
  std::string error_;
  bool hung_up_ = false;
};

[[nodiscard]] std::unique_ptr<Stream> make_plain_stream(Socket socket);

}  // namespace quantjit::remote

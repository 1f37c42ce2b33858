// SPDX-License-Identifier: Apache-2.0
#include "tests/support/loopback_server.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace quantjit::test {
namespace {

constexpr int kPause = 5;  // ms between bytes that drip, and between looks at an end

/// A socket that listens on a free port of 127.0.0.1.
int listen_on_loopback(int backlog, std::uint16_t& port) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (file < 0 || ::bind(file, raw, bytes) != 0 || ::listen(file, backlog) != 0 ||
      ::getsockname(file, raw, &bytes) != 0) {
    throw std::runtime_error("no socket can listen on 127.0.0.1");
  }
  port = ntohs(address.sin_port);
  return file;
}

bool wait(int file, short events) {
  pollfd item{file, events, 0};
  return ::poll(&item, 1, kPause) > 0;
}

}  // namespace

std::string LoopbackConnection::read_until(std::string_view end) {
  std::string text;
  while (!text.ends_with(end)) {
    const std::string more = read_bytes(1);
    if (more.empty()) {
      break;
    }
    text += more;
  }
  return text;
}

std::string LoopbackConnection::read_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count && !stopping_) {
    if (!wait(file_, POLLIN)) {
      continue;
    }
    const ssize_t got = ::recv(file_, bytes.data() + done, count - done, 0);
    if (got <= 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

bool LoopbackConnection::write(std::string_view bytes) {
  while (!bytes.empty() && !stopping_) {
    if (!wait(file_, POLLOUT)) {
      continue;
    }
    const ssize_t done = ::send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return bytes.empty();
}

std::size_t LoopbackConnection::drip(std::string_view bytes) {
  for (std::size_t written = 0; !stopping_; ++written) {
    if (!write(bytes.substr(written % bytes.size(), 1))) {
      return written;
    }
    if (wait(file_, POLLIN) && read_bytes(1).empty()) {
      return written;
    }
  }
  return 0;
}

void LoopbackConnection::wait_for_close() {
  while (!read_bytes(1).empty()) {
  }
}

void LoopbackConnection::close_writing() {
  ::shutdown(file_, SHUT_WR);
}

void LoopbackConnection::reset_at_close() {
  const linger now{1, 0};
  ::setsockopt(file_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

LoopbackServer::LoopbackServer(Serve serve)
    : serve_(std::move(serve)), listener_(listen_on_loopback(64, port_)) {
  acceptor_ = std::thread([this] { accept_all(); });
}

LoopbackServer::~LoopbackServer() {
  stopping_ = true;
  acceptor_.join();
  for (std::thread& handler : handlers_) {
    handler.join();
  }
  ::close(listener_);
}

void LoopbackServer::accept_all() {
  while (!stopping_) {
    if (!wait(listener_, POLLIN)) {
      continue;
    }
    const int file = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (file < 0) {
      continue;
    }
    const int number = count_++;
    handlers_.emplace_back([this, file, number] {
      LoopbackConnection connection(file, stopping_);
      serve_(connection, number);
      ::close(file);
    });
  }
}

BlackHole::BlackHole() {
  // With its queue full, Linux drops what knocks.
  files_.push_back(listen_on_loopback(0, port_));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port_);
  for (int i = 0; i < 4; ++i) {
    const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    static_cast<void>(::connect(file, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
    files_.push_back(file);
  }
}

BlackHole::~BlackHole() {
  for (const int file : files_) {
    ::close(file);
  }
}

std::uint16_t closed_port() {
  std::uint16_t port = 0;
  ::close(listen_on_loopback(1, port));
  return port;
}

}  // namespace quantjit::test

// SPDX-License-Identifier: Apache-2.0
#include "src/remote/stream.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace quantjit::remote {
namespace {

std::string describe(int error) {
  return std::generic_category().message(error);
}

int connect_error(const Socket& socket) {
  int error = 0;
  socklen_t bytes = sizeof(error);
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

/// 0 or an errno value.
int try_connect(const Socket& socket, const Address& address, const Deadline& deadline) {
  const auto* const target = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(socket.get(), target, address.bytes) == 0) {
    return 0;
  }
  if (errno != EINPROGRESS && errno != EINTR) {
    return errno;
  }
  return socket.wait(POLLOUT, deadline) ? connect_error(socket) : ETIMEDOUT;
}

class PlainStream : public Stream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}

  bool send(std::string_view bytes, const Deadline& deadline) override {
    while (!bytes.empty()) {
      const ssize_t done = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (done >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(done));
      } else if (!may_go_on("sending: ", POLLOUT, deadline)) {
        return false;
      }
    }
    return true;
  }

  std::size_t receive(std::span<char> into, const Deadline& deadline) override {
    while (!deadline.passed()) {
      const ssize_t got = ::recv(socket_.get(), into.data(), into.size(), 0);
      if (got > 0) {
        return static_cast<std::size_t>(got);
      }
      if (got == 0) {
        fail_hung_up("the server closed the connection");
        return 0;
      }
      if (!may_go_on("receiving: ", POLLIN, deadline)) {
        return 0;
      }
    }
    fail_timed_out();
    return 0;
  }

  [[nodiscard]] bool quiet() const override {
    pollfd item{socket_.get(), POLLIN, 0};
    return ::poll(&item, 1, 0) == 0;
  }

 private:
  /// After a system call that failed: waits if that is all it takes.
  bool may_go_on(const char* doing, short events, const Deadline& deadline) {
    const int error = errno;
    if (error == EINTR) {
      return true;
    }
    if (error != EAGAIN && error != EWOULDBLOCK) {
      fail_hung_up(doing + describe(error));
      return false;
    }
    if (!socket_.wait(events, deadline)) {
      fail_timed_out();
      return false;
    }
    return true;
  }

  Socket socket_;
};

}  // namespace

Socket::~Socket() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

bool Socket::wait(short events, const Deadline& deadline) const {
  while (true) {
    const auto left = std::min<std::int64_t>(deadline.remaining().count(), INT_MAX);
    pollfd item{file_, events, 0};
    const int ready = ::poll(&item, 1, static_cast<int>(left));
    if (ready > 0) {
      return true;
    }
    if ((ready == 0 && deadline.passed()) || (ready < 0 && errno != EINTR)) {
      return false;
    }
  }
}

Socket connect_socket(const Addresses& addresses, const Deadline& deadline, std::string& error) {
  std::size_t left = addresses.list.size();
  error = addresses.error;
  for (const Address& address : addresses.list) {
    Socket socket(
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) {
      error = "making a socket: " + describe(errno);
      continue;
    }
    // An address that swallows packets must leave time for those after it.
    const Deadline part = deadline.at_most(deadline.remaining() / static_cast<int>(left--));
    const int failed = try_connect(socket, address, part);
    if (failed == 0) {
      const int on = 1;
      static_cast<void>(::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
      return socket;
    }
    error = "connecting: " + describe(failed);
  }
  return {};
}

void Stream::fail_timed_out() {
  error_ = "the server did not answer within the time limit";
}

void Stream::fail_hung_up(std::string error) {
  error_ = std::move(error);
  hung_up_ = true;
}

std::unique_ptr<Stream> make_plain_stream(Socket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

}  // namespace quantjit::remote

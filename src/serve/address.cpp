// SPDX-License-Identifier: Apache-2.0
#include "src/serve/address.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace quantjit::serve {
namespace {

constexpr int kBacklog = 1024;

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

std::string reason(int error) {
  std::array<char, 128> text{};
  return ::strerror_r(error, text.data(), text.size());
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof(v4));
    return (ntohl(v4.sin_addr.s_addr) >> 24U) == 127;
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof(v6));
  return address.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

/// Fills in what the socket is bound to.
void describe(Listener& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(listener.socket, generic, &size) != 0 ||
      ::getnameinfo(generic, size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    throw Error("the address that was bound cannot be read");
  }
  const std::string name(host.data());
  listener.address = (address.ss_family == AF_INET6 ? "[" + name + "]" : name) + ":" + port.data();
  std::from_chars(port.data(), port.data() + std::strlen(port.data()), listener.port);
  listener.loopback = is_loopback(address);
}

}  // namespace

Address parse_address(std::string_view text) {
  const auto refuse = [&] {
    throw InvalidArgument("--listen", "\"" + std::string(text) + "\"",
                          "it must be HOST:PORT, such as 127.0.0.1:9871 or [::]:9871");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    refuse();
  }
  Address address{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
  if (address.host.front() == '[') {
    if (address.host.size() < 3 || address.host.back() != ']') {
      refuse();
    }
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find(':') != std::string::npos) {
    refuse();
  }
  unsigned port = 0;
  const char* const end = address.port.data() + address.port.size();
  const auto [last, error] = std::from_chars(address.port.data(), end, port);
  if (error != std::errc{} || last != end || port > 65535) {
    refuse();
  }
  return address;
}

Listener listen_on(const Address& address) {
  const std::string name = address.host + ":" + address.port;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int status = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
      status != 0) {
    throw Error("cannot listen on " + name + ": " + ::gai_strerror(status) +
                "; name an address of this machine");
  }
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  int error = 0;
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    Listener listener;
    listener.socket = ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;
    if (listener.socket >= 0 &&
        ::setsockopt(listener.socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        ::bind(listener.socket, one->ai_addr, one->ai_addrlen) == 0 &&
        ::listen(listener.socket, kBacklog) == 0) {
      describe(listener);
      return listener;
    }
    error = errno;
    if (listener.socket >= 0) {
      ::close(listener.socket);
    }
  }
  throw Error("cannot listen on " + name + ": " + reason(error) +
              "; choose another address with --listen");
}

}  // namespace quantjit::serve

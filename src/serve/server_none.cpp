// SPDX-License-Identifier: Apache-2.0
// In place of server_microhttpd.cpp where there is no libmicrohttpd.
#include "src/serve/server.hpp"

#include <quantjit/error.hpp>

namespace quantjit::serve {

class Server::Impl {};

std::string http_server_version() {
  return {};
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): as where there is a server
Server::Server(KernelService&, Options) {
  throw NotImplemented(
      "this quantjit was built without libmicrohttpd, so it cannot serve; install "
      "libmicrohttpd-dev and build it again");
}

Server::~Server() = default;

// Nobody has a server to call these on.

const std::string& Server::address() const {
  static const std::string none;
  return none;
}

unsigned Server::port() const {
  return 0;
}

int Server::jobs() const {
  return 0;
}

std::size_t Server::drain(std::chrono::milliseconds) {
  return 0;
}

}  // namespace quantjit::serve

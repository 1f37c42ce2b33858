// SPDX-License-Identifier: Apache-2.0
// The compile service over HTTP.
#pragma once

#include "src/serve/options.hpp"

#include <quantjit/service.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace quantjit::serve {

/// Version of libmicrohttpd that this build serves with; empty if it cannot serve.
[[nodiscard]] std::string http_server_version();

/// Serves while it lives. Thread safe.
class Server {
 public:
  /// Listens and answers at once. The service must outlive it.
  /// Throws: InvalidArgument, Error (the address, the token file), NotImplemented if this build has
  /// no HTTP server.
  Server(KernelService& service, Options options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// HOST:PORT that it is bound to, in numbers.
  [[nodiscard]] const std::string& address() const;
  [[nodiscard]] unsigned port() const;
  /// Compiles at once.
  [[nodiscard]] int jobs() const;

  /// Takes no new compile, answers what was accepted, and closes. Whoever asks meanwhile is told to
  /// go elsewhere. What is not done after `limit` is answered with an error; returns how many
  /// compiles were then still under way: their threads run on, and the destructor waits for them.
  std::size_t drain(std::chrono::milliseconds limit);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quantjit::serve

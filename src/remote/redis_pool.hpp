// SPDX-License-Identifier: Apache-2.0
// The connections to one Redis server.
#pragma once

#include "src/remote/backend.hpp"
#include "src/remote/redis_connection.hpp"
#include "src/remote/resolver.hpp"
#include "src/remote/secret_file.hpp"
#include "src/remote/tls.hpp"
#include "src/remote/url.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::remote {

/// Thread safe, also in forked children, which keep no connections.
class RedisPool {
 public:
  /// Throws: NotImplemented, InvalidArgument, as make_tls_client().
  RedisPool(const TierSpec& spec, std::size_t index);

  /// One command. A kept connection that turns out to have ended is replaced once.
  RedisAnswer call(const std::vector<std::string_view>& command, std::size_t max_bytes,
                   const Deadline& deadline);

 private:
  using Connection = std::unique_ptr<RedisConnection>;

  Connection take_kept();
  void keep(Connection connection);
  /// Null on failure; `problem` says why then.
  Connection open(const Deadline& deadline, RedisAnswer& problem);
  std::unique_ptr<Stream> open_stream(const Deadline& deadline, std::string& error);
  /// AUTH and SELECT; false on failure.
  bool introduce(RedisConnection& connection, const Deadline& deadline, RedisAnswer& problem);
  bool authenticate(RedisConnection& connection, const Deadline& deadline, RedisAnswer& problem);

  const HomeProcess home_;
  Resolver resolver_;
  std::unique_ptr<TlsClient> tls_;  ///< null: plain connections
  std::string user_;
  SecretFile password_;
  const bool has_password_;
  std::string database_;  ///< empty: the first
  std::chrono::milliseconds connect_timeout_;
  std::mutex mutex_;
  std::vector<Connection> kept_;  // guarded by mutex_
};

/// What an error code of a server means to a caller of the backend.
[[nodiscard]] Outcome redis_error_outcome(std::string_view code);

}  // namespace quantjit::remote

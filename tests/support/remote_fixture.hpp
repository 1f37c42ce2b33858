// SPDX-License-Identifier: Apache-2.0
// What the tests of the backends share.
#pragma once

#include "src/remote/make_backend.hpp"
#include "tests/support/loopback_server.hpp"

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace quantjit::remote {

/// A name whose request consists of one digit.
[[nodiscard]] Name name_of(char digit, const std::string& part = "0123456789abcdef");
/// Limits that no working server on this machine reaches.
[[nodiscard]] Limits generous();
/// Limits for servers that never finish.
[[nodiscard]] Limits brief();
/// "found", "absent", ...
[[nodiscard]] std::string to_string(Outcome outcome);
/// The backend of a URL's first server.
[[nodiscard]] std::unique_ptr<Backend> backend_of(const std::string& url);
/// `call` returned at all, that is, long before a test would be given up.
[[nodiscard]] Reply in_time(const std::function<Reply()>& call);
/// Runs `call` in a forked child and returns what it returned.
[[nodiscard]] int in_child(const std::function<int()>& call);

/// A server of Redis's protocol whose answers a test makes up.
class FakeRedis {
 public:
  using Command = std::vector<std::string>;
  /// The answer as it goes over the wire. An empty one ends the connection.
  using Answer = std::function<std::string(const Command& command, int connection)>;

  explicit FakeRedis(Answer answer);

  [[nodiscard]] std::string url(const std::string& user_at = {},
                                const std::string& rest = {}) const;
  /// All commands so far.
  [[nodiscard]] std::vector<Command> commands() const;

  [[nodiscard]] int connections() const { return server_.connections(); }

 private:
  void serve(test::LoopbackConnection& connection, int number);

  Answer answer_;
  mutable std::mutex mutex_;
  std::vector<Command> commands_;  // guarded by mutex_
  test::LoopbackServer server_;
};

/// An HTTP server whose answers a test makes up.
class FakeHttp {
 public:
  struct Request {
    std::string line;     ///< without the protocol's version
    std::string headers;  ///< lines as they came
    std::string body;

    [[nodiscard]] bool has(const std::string& header) const {
      return headers.find(header + "\r\n") != std::string::npos;
    }
  };

  /// The answer as it goes over the wire. An empty one ends the connection.
  using Answer = std::function<std::string(const Request& request, int connection)>;

  explicit FakeHttp(Answer answer);

  /// `scheme` is http or qj+http.
  [[nodiscard]] std::string url(const std::string& scheme = "http", const std::string& user_at = {},
                                const std::string& rest = {}) const;
  [[nodiscard]] std::vector<Request> requests() const;

  [[nodiscard]] int connections() const { return server_.connections(); }

 private:
  void serve(test::LoopbackConnection& connection, int number);

  Answer answer_;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;  // guarded by mutex_
  test::LoopbackServer server_;
};

/// An answer with a right Content-Length.
[[nodiscard]] std::string http_answer(int status, const std::string& body = {});

}  // namespace quantjit::remote

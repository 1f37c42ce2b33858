// SPDX-License-Identifier: Apache-2.0
#include "src/remote/redis_pool.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace quantjit::remote {
namespace {

using Kind = RedisAnswer::Kind;

constexpr std::size_t kMaxKept = 8;
constexpr std::size_t kShortAnswer = 1024;  // bytes

/// States of a server that pass.
constexpr std::array<std::string_view, 6> kPassing{"LOADING",     "BUSY",       "TRYAGAIN",
                                                   "CLUSTERDOWN", "MASTERDOWN", "MAXCLIENTS"};

RedisAnswer no_answer(std::string problem) {
  RedisAnswer answer;
  answer.problem = std::move(problem);
  return answer;
}

RedisAnswer refused(std::string code) {
  RedisAnswer answer;
  answer.kind = Kind::kError;
  answer.text = std::move(code);
  return answer;
}

}  // namespace

Outcome redis_error_outcome(std::string_view code) {
  return std::find(kPassing.begin(), kPassing.end(), code) != kPassing.end() ? Outcome::kFailed
                                                                             : Outcome::kRefused;
}

RedisPool::RedisPool(const TierSpec& spec, std::size_t index)
    : resolver_(spec.hosts.at(index)),
      tls_(spec.scheme == Scheme::kRediss ? make_tls_client(spec.hosts.at(index).name, spec.ca_file)
                                          : nullptr),
      user_(spec.user),
      password_(spec.password_file, spec.password),
      has_password_(!spec.password.empty() || !spec.password_file.empty()),
      database_(spec.database == 0 ? std::string() : std::to_string(spec.database)),
      connect_timeout_(spec.connect_timeout) {}

RedisAnswer RedisPool::call(const std::vector<std::string_view>& command, std::size_t max_bytes,
                            const Deadline& deadline) {
  if (Connection kept = take_kept()) {
    RedisAnswer answer = kept->call(command, max_bytes, deadline);
    if (answer.kind != Kind::kNone || !answer.hung_up || deadline.passed()) {
      keep(std::move(kept));
      return answer;
    }
  }
  RedisAnswer answer;
  Connection fresh = open(deadline, answer);
  if (fresh) {
    answer = fresh->call(command, max_bytes, deadline);
    keep(std::move(fresh));
  }
  return answer;
}

RedisPool::Connection RedisPool::take_kept() {
  if (home_.left()) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  while (!kept_.empty()) {
    Connection connection = std::move(kept_.back());
    kept_.pop_back();
    if (connection->reusable()) {
      return connection;
    }
  }
  return nullptr;
}

void RedisPool::keep(Connection connection) {
  if (home_.left() || !connection->reusable()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (kept_.size() < kMaxKept) {
    kept_.push_back(std::move(connection));
  }
}

RedisPool::Connection RedisPool::open(const Deadline& deadline, RedisAnswer& problem) {
  std::string error;
  std::unique_ptr<Stream> stream = open_stream(deadline.at_most(connect_timeout_), error);
  if (!stream) {
    problem = no_answer(std::move(error));
    return nullptr;
  }
  auto connection = std::make_unique<RedisConnection>(std::move(stream));
  if (!introduce(*connection, deadline, problem)) {
    if (problem.kind != Kind::kError && problem.kind != Kind::kNone) {
      problem = no_answer("the server's answer makes no sense");
    }
    return nullptr;
  }
  return connection;
}

std::unique_ptr<Stream> RedisPool::open_stream(const Deadline& deadline, std::string& error) {
  Socket socket = connect_socket(resolver_.resolve(deadline), deadline, error);
  if (!socket) {
    resolver_.forget();
    return nullptr;
  }
  return tls_ ? tls_->start(std::move(socket), deadline, error)
              : make_plain_stream(std::move(socket));
}

bool RedisPool::introduce(RedisConnection& connection, const Deadline& deadline,
                          RedisAnswer& problem) {
  if (has_password_ && !authenticate(connection, deadline, problem)) {
    return false;
  }
  if (!database_.empty()) {
    problem = connection.call({"SELECT", database_}, kShortAnswer, deadline);
    return problem.kind == Kind::kStatus;
  }
  return true;
}

bool RedisPool::authenticate(RedisConnection& connection, const Deadline& deadline,
                             RedisAnswer& problem) {
  SecretFile::Secret secret = password_.get();
  for (const bool again : {false, true}) {
    if (!secret.error.empty()) {
      // As if the server had said it: nothing will work until somebody mends it.
      problem = refused("NOAUTH, since " + secret.error);
      return false;
    }
    problem = user_.empty() ? connection.call({"AUTH", secret.text}, kShortAnswer, deadline)
                            : connection.call({"AUTH", user_, secret.text}, kShortAnswer, deadline);
    if (problem.kind == Kind::kStatus) {
      return true;
    }
    const std::string tried = std::move(secret.text);
    if (again || problem.kind != Kind::kError || (secret = password_.read_again()).text == tried) {
      return false;
    }
  }
  return false;
}

}  // namespace quantjit::remote

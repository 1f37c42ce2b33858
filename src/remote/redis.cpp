// SPDX-License-Identifier: Apache-2.0
// A Redis server. All keys of one request share a hash tag, so that a cluster keeps them together:
//
//   <prefix>:1:{<request>}:<part>        an entry
//   <prefix>:1:{<request>}:lease-<part>  who holds the lease: its token
//   <prefix>:1:{<request>}:fence         the token given out last
#include "src/remote/make_backend.hpp"
#include "src/remote/redis_pool.hpp"
#include "src/remote/tls.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace quantjit::remote {
namespace {

using Kind = RedisAnswer::Kind;

// Longer than any lease: a token given out once does not come again while it matters.
constexpr std::string_view kFenceSeconds = "604800";
constexpr std::string_view kRenew =
    "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('PEXPIRE',KEYS[1],ARGV[2]) "
    "else return 0 end";
constexpr std::string_view kRelease =
    "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) "
    "else return 0 end";
constexpr std::size_t kShortAnswer = 1024;  // bytes

std::string milliseconds(std::chrono::milliseconds duration) {
  return std::to_string(std::max<std::int64_t>(duration.count(), 1));
}

/// What is left if it is none of the answers that a call expects.
Reply unexpected(const RedisAnswer& answer) {
  if (answer.kind == Kind::kError) {
    return {redis_error_outcome(answer.text), {}, "the server answered " + answer.text};
  }
  return {Outcome::kFailed,
          {},
          answer.kind == Kind::kNone ? answer.problem : "the server's answer makes no sense"};
}

LeaseReply no_lease(const RedisAnswer& answer) {
  return unexpected(answer).outcome == Outcome::kRefused ? LeaseReply::kRefused
                                                         : LeaseReply::kFailed;
}

class RedisBackend : public Backend {
 public:
  RedisBackend(const TierSpec& spec, std::size_t index)
      : pool_(spec, index),
        prefix_(spec.prefix),
        ttl_(spec.ttl.count() > 0 ? std::to_string(spec.ttl.count()) : std::string()),
        label_(spec.label(index)) {}

  Reply get(const Name& name, const Limits& limits) override {
    // One byte more than what is wanted shows that there is more.
    const std::string last = std::to_string(limits.max_bytes);
    RedisAnswer answer = pool_.call({"GETRANGE", key(name, ""), "0", last}, limits.max_bytes + 1,
                                    Deadline(limits.timeout));
    if (answer.kind != Kind::kText) {
      return unexpected(answer);
    }
    if (answer.text.size() > limits.max_bytes) {
      return {Outcome::kFailed, {}, "it is longer than what is read"};
    }
    // A range of a key that does not exist is empty; no entry is.
    return answer.text.empty() ? Reply{Outcome::kAbsent, {}, {}}
                               : Reply{Outcome::kFound, std::move(answer.text), {}};
  }

  Reply put(const Name& name, std::string_view bytes, Overwrite overwrite,
            const Limits& limits) override {
    const std::string where = key(name, "");
    std::vector<std::string_view> command{"SET", where, bytes};
    if (!ttl_.empty()) {
      command.insert(command.end(), {"EX", ttl_});
    }
    if (overwrite == Overwrite::kKeep) {
      command.emplace_back("NX");
    }
    const RedisAnswer answer = pool_.call(command, kShortAnswer, Deadline(limits.timeout));
    if (answer.kind == Kind::kStatus) {
      return {Outcome::kFound, {}, {}};
    }
    return answer.kind == Kind::kNothing && overwrite == Overwrite::kKeep
               ? Reply{Outcome::kKept, {}, {}}
               : unexpected(answer);
  }

  Reply head(const Name& name, const Limits& limits) override {
    return count({"EXISTS", key(name, "")}, Deadline(limits.timeout));
  }

  Reply remove(const Name& name, const Limits& limits) override {
    return count({"DEL", key(name, "")}, Deadline(limits.timeout));
  }

  [[nodiscard]] bool has_leases() const override { return true; }

  LeaseReply acquire(const Name& name, std::chrono::milliseconds duration, std::string& token,
                     const Limits& limits) override {
    const Deadline deadline(limits.timeout);
    const std::string fence = prefix_ + ":1:{" + name.request + "}:fence";
    const RedisAnswer number = pool_.call({"INCR", fence}, kShortAnswer, deadline);
    if (number.kind != Kind::kNumber) {
      return no_lease(number);
    }
    token = std::to_string(number.number);
    const RedisAnswer taken =
        pool_.call({"SET", key(name, "lease-"), token, "NX", "PX", milliseconds(duration)},
                   kShortAnswer, deadline);
    if (taken.kind == Kind::kNothing) {
      return LeaseReply::kHeld;
    }
    if (taken.kind != Kind::kStatus) {
      return no_lease(taken);
    }
    static_cast<void>(pool_.call({"EXPIRE", fence, kFenceSeconds}, kShortAnswer, deadline));
    return LeaseReply::kAcquired;
  }

  LeaseReply renew(const Name& name, std::chrono::milliseconds duration, const std::string& token,
                   const Limits& limits) override {
    const RedisAnswer answer =
        pool_.call({"EVAL", kRenew, "1", key(name, "lease-"), token, milliseconds(duration)},
                   kShortAnswer, Deadline(limits.timeout));
    if (answer.kind != Kind::kNumber) {
      return no_lease(answer);
    }
    return answer.number == 1 ? LeaseReply::kAcquired : LeaseReply::kHeld;
  }

  void release(const Name& name, const std::string& token, const Limits& limits) override {
    static_cast<void>(pool_.call({"EVAL", kRelease, "1", key(name, "lease-"), token}, kShortAnswer,
                                 Deadline(limits.timeout)));
  }

  [[nodiscard]] const std::string& label() const override { return label_; }

 private:
  [[nodiscard]] std::string key(const Name& name, std::string_view kind) const {
    return prefix_ + ":1:{" + name.request + "}:" + std::string(kind) + name.part;
  }

  Reply count(const std::vector<std::string_view>& command, const Deadline& deadline) {
    const RedisAnswer answer = pool_.call(command, kShortAnswer, deadline);
    if (answer.kind != Kind::kNumber) {
      return unexpected(answer);
    }
    return {answer.number > 0 ? Outcome::kFound : Outcome::kAbsent, {}, {}};
  }

  RedisPool pool_;
  std::string prefix_;
  std::string ttl_;  ///< in seconds; empty: none
  std::string label_;
};

}  // namespace

std::string redis_version() {
  return hiredis_version();
}

std::string redis_tls_version() {
  return tls_version();
}

std::unique_ptr<Backend> make_redis_backend(const TierSpec& spec, std::size_t index) {
  return std::make_unique<RedisBackend>(spec, index);
}

}  // namespace quantjit::remote

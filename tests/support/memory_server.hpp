// SPDX-License-Identifier: Apache-2.0
// A server of a remote tier in memory, with the faults that real ones have. Any number of backends
// may talk to one server, as machines do.
#pragma once

#include "cache/clock.hpp"
#include "src/remote/backend.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace quantjit::test {

/// Thread safe.
class MemoryServer {
 public:
  /// Called with no lock held; what they return, if it is not found, is the answer.
  struct Faults {
    std::function<remote::Outcome()> get;    ///< of get and head
    std::function<remote::Outcome()> put;    ///< of put and remove
    std::function<bool()> lease;             ///< false: lease calls fail
    std::function<void(std::string&)> body;  ///< what happens to a body on its way
    std::function<remote::Reply(std::string_view)> compile;
  };

  explicit MemoryServer(cache::Clock& clock = cache::system_clock()) : clock_(clock) {}

  Faults faults;
  bool leases = false;
  bool compiles = false;

  [[nodiscard]] std::map<std::string, std::string> items() {
    const std::lock_guard lock(mutex_);
    return items_;
  }

  void store(const remote::Name& name, std::string bytes) {
    const std::lock_guard lock(mutex_);
    items_[text_of(name)] = std::move(bytes);
  }

  [[nodiscard]] int calls(const std::string& kind) {
    const std::lock_guard lock(mutex_);
    return calls_[kind];
  }

  [[nodiscard]] static std::string text_of(const remote::Name& name) {
    return name.request + "-" + name.part;
  }

 private:
  friend class MemoryBackend;

  struct Held {
    std::string token;
    std::chrono::nanoseconds until{0};
  };

  void note(const std::string& kind) {
    const std::lock_guard lock(mutex_);
    ++calls_[kind];
  }

  cache::Clock& clock_;
  std::mutex mutex_;  // guards what follows
  std::map<std::string, std::string> items_;
  std::map<std::string, Held> held_;
  std::map<std::string, int> calls_;
  int next_token_ = 1;
};

class MemoryBackend final : public remote::Backend {
 public:
  explicit MemoryBackend(MemoryServer& server, std::string label = "memory://server")
      : server_(server), label_(std::move(label)) {}

  remote::Reply get(const remote::Name& name, const remote::Limits& limits) override {
    remote::Reply reply = look("get", name);
    if (reply.found()) {
      if (server_.faults.body) {
        server_.faults.body(reply.body);
      }
      if (reply.body.size() > limits.max_bytes) {
        return {remote::Outcome::kFailed, {}, "the answer is too long"};
      }
    }
    return reply;
  }

  remote::Reply head(const remote::Name& name, const remote::Limits&) override {
    remote::Reply reply = look("head", name);
    reply.body.clear();
    return reply;
  }

  remote::Reply put(const remote::Name& name, std::string_view bytes, remote::Overwrite overwrite,
                    const remote::Limits&) override {
    server_.note("put");
    if (server_.faults.put) {
      if (const remote::Outcome outcome = server_.faults.put();
          outcome != remote::Outcome::kFound) {
        return {outcome, {}, "as the test wants it"};
      }
    }
    const std::lock_guard lock(server_.mutex_);
    const std::string text = MemoryServer::text_of(name);
    if (overwrite == remote::Overwrite::kKeep && server_.items_.contains(text)) {
      return {remote::Outcome::kKept, {}, {}};
    }
    server_.items_[text] = bytes;
    return {remote::Outcome::kFound, {}, {}};
  }

  remote::Reply remove(const remote::Name& name, const remote::Limits&) override {
    server_.note("remove");
    const std::lock_guard lock(server_.mutex_);
    const bool was_there = server_.items_.erase(MemoryServer::text_of(name)) > 0;
    return {was_there ? remote::Outcome::kFound : remote::Outcome::kAbsent, {}, {}};
  }

  [[nodiscard]] bool has_leases() const override { return server_.leases; }

  remote::LeaseReply acquire(const remote::Name& name, std::chrono::milliseconds duration,
                             std::string& token, const remote::Limits&) override {
    server_.note("acquire");
    if (server_.faults.lease && !server_.faults.lease()) {
      return remote::LeaseReply::kFailed;
    }
    const std::lock_guard lock(server_.mutex_);
    MemoryServer::Held& held = server_.held_[MemoryServer::text_of(name)];
    const std::chrono::nanoseconds now = server_.clock_.since_boot();
    if (!held.token.empty() && now < held.until) {
      return remote::LeaseReply::kHeld;
    }
    held = {std::to_string(server_.next_token_++), now + duration};
    token = held.token;
    return remote::LeaseReply::kAcquired;
  }

  remote::LeaseReply renew(const remote::Name& name, std::chrono::milliseconds duration,
                           const std::string& token, const remote::Limits&) override {
    server_.note("renew");
    if (server_.faults.lease && !server_.faults.lease()) {
      return remote::LeaseReply::kFailed;
    }
    const std::lock_guard lock(server_.mutex_);
    MemoryServer::Held& held = server_.held_[MemoryServer::text_of(name)];
    const std::chrono::nanoseconds now = server_.clock_.since_boot();
    if (held.token != token || now >= held.until) {
      return remote::LeaseReply::kHeld;
    }
    held.until = now + duration;
    return remote::LeaseReply::kAcquired;
  }

  void release(const remote::Name& name, const std::string& token, const remote::Limits&) override {
    server_.note("release");
    const std::lock_guard lock(server_.mutex_);
    MemoryServer::Held& held = server_.held_[MemoryServer::text_of(name)];
    if (held.token == token) {
      held.token.clear();
    }
  }

  [[nodiscard]] bool compiles() const override { return server_.compiles; }

  remote::Reply compile(std::string_view order, const remote::Limits&) override {
    server_.note("compile");
    return server_.faults.compile(order);
  }

  [[nodiscard]] const std::string& label() const override { return label_; }

 private:
  remote::Reply look(const std::string& kind, const remote::Name& name) {
    server_.note(kind);
    if (server_.faults.get) {
      if (const remote::Outcome outcome = server_.faults.get();
          outcome != remote::Outcome::kFound) {
        return {outcome, {}, "as the test wants it"};
      }
    }
    const std::lock_guard lock(server_.mutex_);
    const auto found = server_.items_.find(MemoryServer::text_of(name));
    return found == server_.items_.end()
               ? remote::Reply{remote::Outcome::kAbsent, {}, {}}
               : remote::Reply{remote::Outcome::kFound, found->second, {}};
  }

  MemoryServer& server_;
  const std::string label_;
};

}  // namespace quantjit::test

// SPDX-License-Identifier: Apache-2.0
#include "src/remote/tier.hpp"

#include "src/base/log.hpp"
#include "src/remote/alias.hpp"
#include "src/remote/rendezvous.hpp"

#include <algorithm>
#include <random>
#include <utility>

namespace quantjit::remote {

using std::chrono::steady_clock;

RemoteTier::Server::Server(std::unique_ptr<Backend> its_backend, cache::Clock& clock,
                           const BreakerTimings& timings)
    : backend(std::move(its_backend)),
      for_calls(clock, timings, std::random_device()()),
      for_puts(clock, timings, std::random_device()()),
      for_compiles(clock, timings, std::random_device()()) {}

RemoteTier::RemoteTier(TierOptions options, std::vector<std::unique_ptr<Backend>> servers,
                       cache::Clock& clock)
    : options_(std::move(options)) {
  for (std::unique_ptr<Backend>& backend : servers) {
    leases_ = leases_ && backend->has_leases();
    compiles_ = compiles_ && backend->compiles();
    label_ += (label_.empty() ? "" : ",") + backend->label();
    server_labels_.push_back(backend->label());
    servers_.push_back(std::make_unique<Server>(std::move(backend), clock, options_.breaker));
  }
}

RemoteTier::Server& RemoteTier::server_of(std::string_view request) {
  return *servers_[choose_shard(server_labels_, request)];
}

void RemoteTier::count(TierCounter counter, std::uint64_t by) {
  counters_[static_cast<std::size_t>(counter)].fetch_add(by, std::memory_order_relaxed);
}

cache::MacKey RemoteTier::mac_key() {
  if (!options_.mac_key) {
    return {.usable = true, .settled = true, .bytes = {}, .reason = {}};
  }
  const std::lock_guard lock(mutex_);
  if (!mac_key_ || !mac_key_->usable) {
    mac_key_ = options_.mac_key();
  }
  return *mac_key_;
}

void RemoteTier::note_failure(const Server& server, const Reply& reply) {
  count(TierCounter::kFailures);
  const std::lock_guard lock(mutex_);
  last_error_ = server.backend->label() + ": " + reply.error;
}

template <typename Call>
std::optional<Reply> RemoteTier::ask(Server& server, OnRefusal on_refusal, Call call) {
  Breaker::Pass pass = server.for_calls.enter();
  if (!pass) {
    count(TierCounter::kSkipped);
    return std::nullopt;
  }
  Reply reply = call(*server.backend);
  const bool refused = reply.outcome == Outcome::kRefused;
  const bool failed = reply.outcome == Outcome::kFailed;
  if (refused || failed) {
    note_failure(server, reply);
  }
  if (failed || (refused && on_refusal == OnRefusal::kLeaveAlone)) {
    if (pass.failed()) {
      base::log_warn("the remote tier " + server.backend->label() + " failed (" + reply.error +
                     "); it is left alone for a while, and kernels are had without it");
    }
  } else if (pass.succeeded()) {
    base::log_info("the remote tier " + server.backend->label() + " answers again");
  }
  return reply;
}

Look RemoteTier::get(const Wanted& wanted, Counting counting) {
  Server& server = server_of(wanted.request);
  Look look = wanted.toolchain.empty() ? get_newest(server, wanted, counting)
                                       : get_part(server, wanted, wanted.toolchain, counting);
  if (look.found()) {
    count(TierCounter::kHits);
  }
  return look;
}

Look RemoteTier::get_part(Server& server, const Wanted& wanted, std::string_view part,
                          Counting counting) {
  const Name name{std::string(wanted.request), std::string(part)};
  return look_at(ask(server, OnRefusal::kLeaveAlone,
                     [&](Backend& backend) { return backend.get(name, limits()); }),
                 wanted, counting);
}

Look RemoteTier::get_newest(Server& server, const Wanted& wanted, Counting counting) {
  const Name name{std::string(wanted.request), std::string(kLatest)};
  std::optional<Reply> reply = ask(server, OnRefusal::kLeaveAlone,
                                   [&](Backend& backend) { return backend.get(name, limits()); });
  const std::optional<Alias> alias =
      reply && reply->found() ? parse_alias(reply->body) : std::nullopt;
  if (!alias) {
    return look_at(std::move(reply), wanted, counting);  // compile services send the entry itself
  }
  return get_part(server, {wanted.request, alias->toolchain, wanted.key_text}, alias->toolchain,
                  counting);
}

Look RemoteTier::look_at(std::optional<Reply>&& reply, const Wanted& wanted, Counting counting) {
  if (!reply) {
    return {.status = LookStatus::kBenched, .entry = {}};
  }
  if (reply->outcome == Outcome::kAbsent) {
    if (counting == Counting::kAll) {
      count(TierCounter::kMisses);
    }
    return {};
  }
  if (!reply->found()) {
    return {
        .status = LookStatus::kFailed, .entry = {}, .busy = reply->busy, .of_this = reply->of_this};
  }
  count(TierCounter::kBytesRead, reply->body.size());
  const cache::MacKey key = mac_key();
  if (!key.usable) {
    reject("nothing can be verified: " + key.reason);
    return {.status = LookStatus::kRejected, .entry = {}};
  }
  cache::ParsedEntry parsed = cache::parse(reply->body, key.bytes);
  if (parsed.entry &&
      (parsed.entry->key.request != wanted.request ||
       (!wanted.toolchain.empty() && parsed.entry->key.toolchain != wanted.toolchain))) {
    parsed.rejection = cache::Rejection::kKey;
  } else if (parsed.entry && parsed.entry->key_text != wanted.key_text) {
    parsed.rejection = cache::Rejection::kKeyText;
  }
  if (parsed.rejection != cache::Rejection::kNone) {
    reject(std::string(wanted.request) + ": " +
           std::string(cache::rejection_text(parsed.rejection)));
    return {.status = LookStatus::kRejected, .entry = {}};
  }
  return {.status = LookStatus::kFound, .entry = std::move(parsed.entry)};
}

Look RemoteTier::compile(const Wanted& wanted, std::string_view order) {
  Server& server = server_of(wanted.request);
  Breaker::Pass pass = server.for_compiles.enter();
  if (!pass) {
    count(TierCounter::kSkipped);
    return {.status = LookStatus::kBenched, .entry = {}};
  }
  const Limits limits{options_.compile_timeout, options_.max_entry};
  Look look =
      look_at(ask(server, OnRefusal::kGoOn, [&](Backend& b) { return b.compile(order, limits); }),
              wanted, Counting::kAll);
  // A server that is busy, or that does not compile this one, may still compile the next.
  if (look.found()) {
    pass.succeeded();
    count(TierCounter::kServiceCompiles);
  } else if (look.status == LookStatus::kFailed && !look.busy && !look.of_this) {
    pass.failed();
  }
  return look;
}

bool RemoteTier::put(const cache::Entry& entry, steady_clock::time_point deadline) {
  const cache::MacKey key = mac_key();
  const std::string bytes = key.usable ? cache::serialize(entry, key.bytes) : std::string();
  if (!key.usable || bytes.size() > options_.max_entry) {
    count(TierCounter::kPutFailures);
    return false;
  }
  const auto limits_left = [&]() -> std::optional<Limits> {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) {
      return std::nullopt;
    }
    return Limits{std::min(options_.timeout, left), options_.max_entry};
  };
  std::optional<Limits> limits = limits_left();
  if (!limits) {
    count(TierCounter::kDropped);
    return false;
  }
  Server& server = server_of(entry.key.request);
  if (!put_bytes(server, {entry.key.request, entry.key.toolchain}, bytes, *limits)) {
    return false;
  }
  count(TierCounter::kPuts);
  count(TierCounter::kBytesWritten, bytes.size());
  if (limits = limits_left(); limits) {
    name_newest(server, entry, *limits);
  }
  return true;
}

bool RemoteTier::put_bytes(Server& server, const Name& name, std::string_view bytes,
                           const Limits& limits) {
  Breaker::Pass pass = server.for_puts.enter();
  if (!pass) {
    count(TierCounter::kSkipped);
    count(TierCounter::kDropped);
    return false;
  }
  const std::optional<Reply> reply = ask(server, OnRefusal::kGoOn, [&](Backend& backend) {
    return backend.put(name, bytes, Overwrite::kReplace, limits);
  });
  if (!reply) {
    count(TierCounter::kDropped);
    return false;
  }
  if (reply->found() || reply->outcome == Outcome::kKept) {
    pass.succeeded();
    return true;
  }
  count(TierCounter::kPutFailures);
  if (reply->outcome != Outcome::kFailed && pass.failed()) {
    base::log_warn("the remote tier " + server.backend->label() + " takes no entries (" +
                   reply->error + "); it is only read for a while");
  }
  return false;
}

void RemoteTier::name_newest(Server& server, const cache::Entry& entry, const Limits& limits) {
  const Name name{entry.key.request, std::string(kLatest)};
  const Alias ours{entry.toolchain_rank, entry.key.toolchain};
  const std::optional<Reply> reply = ask(
      server, OnRefusal::kLeaveAlone, [&](Backend& backend) { return backend.get(name, limits); });
  if (!reply || (!reply->found() && reply->outcome != Outcome::kAbsent)) {
    return;
  }
  const std::optional<Alias> there = reply->found() ? parse_alias(reply->body) : std::nullopt;
  if (there && (there->rank > ours.rank || *there == ours)) {
    return;
  }
  static_cast<void>(ask(server, OnRefusal::kGoOn, [&](Backend& backend) {
    return backend.put(name, to_text(ours), Overwrite::kReplace, limits);
  }));
}

namespace {

LeaseReply to_lease_reply(const std::optional<Reply>& reply) {
  if (!reply) {
    return LeaseReply::kFailed;
  }
  switch (reply->outcome) {
    case Outcome::kFound: return LeaseReply::kAcquired;
    case Outcome::kKept: return LeaseReply::kHeld;
    case Outcome::kRefused: return LeaseReply::kRefused;
    case Outcome::kAbsent:
    case Outcome::kFailed: break;
  }
  return LeaseReply::kFailed;
}

/// So that lease calls go through the same breaker as all others.
Reply to_reply(LeaseReply lease) {
  switch (lease) {
    case LeaseReply::kAcquired: return {Outcome::kFound, {}, {}};
    case LeaseReply::kHeld: return {Outcome::kKept, {}, {}};
    case LeaseReply::kRefused: return {Outcome::kRefused, {}, "it gives no lease"};
    case LeaseReply::kFailed: break;
  }
  return {Outcome::kFailed, {}, "the lease could not be asked for"};
}

}  // namespace

LeaseReply RemoteTier::acquire(const Name& name, std::chrono::milliseconds duration,
                               std::string& token) {
  Server& server = server_of(name.request);
  if (server.for_puts.open()) {
    return LeaseReply::kFailed;  // others would wait for what it does not take
  }
  return to_lease_reply(ask(server, OnRefusal::kGoOn, [&](Backend& backend) {
    return to_reply(backend.acquire(name, duration, token, limits()));
  }));
}

LeaseReply RemoteTier::renew(const Name& name, std::chrono::milliseconds duration,
                             const std::string& token) {
  return to_lease_reply(ask(server_of(name.request), OnRefusal::kGoOn, [&](Backend& backend) {
    return to_reply(backend.renew(name, duration, token, limits()));
  }));
}

void RemoteTier::release(const Name& name, const std::string& token) {
  Server& server = server_of(name.request);
  if (!server.for_calls.open()) {  // it does not say how it ended
    server.backend->release(name, token, limits());
  }
}

void RemoteTier::reject(std::string_view what) {
  count(TierCounter::kRejected);
  if (!warned_of_rejection_.exchange(true, std::memory_order_relaxed)) {
    base::log_warn("the remote tier " + label_ + " sent what is not the wanted entry (" +
                   std::string(what) + "); it counts as not there, now and from now on silently");
  }
}

std::vector<std::string> RemoteTier::probe() {
  std::vector<std::string> problems;
  const Name name{std::string(64, '0'), std::string(kLatest)};
  for (const std::unique_ptr<Server>& server : servers_) {
    const Reply reply = server->backend->head(name, limits());
    const bool answered = reply.found() || reply.outcome == Outcome::kAbsent;
    problems.push_back(answered ? std::string()
                                : server->backend->label() + ": " +
                                      (reply.error.empty() ? "no sensible answer" : reply.error));
  }
  return problems;
}

RemoteTierStats RemoteTier::stats() {
  const auto read = [this](TierCounter counter) {
    return counters_[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
  };
  RemoteTierStats stats{
      .label = label_,
      .writable = writable(),
      .leases = has_leases(),
      .compiles = compiles_,
      .benched = std::any_of(servers_.begin(), servers_.end(),
                             [](const auto& server) { return server->for_calls.open(); }),
      .hits = read(TierCounter::kHits),
      .misses = read(TierCounter::kMisses),
      .failures = read(TierCounter::kFailures),
      .rejected = read(TierCounter::kRejected),
      .puts = read(TierCounter::kPuts),
      .put_failures = read(TierCounter::kPutFailures),
      .dropped = read(TierCounter::kDropped),
      .skipped = read(TierCounter::kSkipped),
      .waits = read(TierCounter::kWaits),
      .service_compiles = read(TierCounter::kServiceCompiles),
      .bytes_read = read(TierCounter::kBytesRead),
      .bytes_written = read(TierCounter::kBytesWritten),
      .last_error = {}};
  const std::lock_guard lock(mutex_);
  stats.last_error = last_error_;
  return stats;
}

}  // namespace quantjit::remote

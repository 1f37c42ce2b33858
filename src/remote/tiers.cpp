// SPDX-License-Identifier: Apache-2.0
#include "src/remote/tiers.hpp"

#include <algorithm>
#include <random>
#include <utility>

namespace quantjit::remote {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// Whether a tier said who has the lease.
bool answered(LeaseReply reply) {
  return reply == LeaseReply::kAcquired || reply == LeaseReply::kHeld;
}

}  // namespace

Tiers::Tiers(std::vector<std::unique_ptr<RemoteTier>> tiers, RemoteOptions options,
             cache::Clock& clock)
    : tiers_(std::move(tiers)), options_(options), clock_(clock), writer_(options.queue) {}

Tiers::~Tiers() {
  writer_.close(options_.flush_limit);
}

bool Tiers::has_leases() const {
  return std::any_of(tiers_.begin(), tiers_.end(),
                     [](const auto& tier) { return tier->has_leases(); });
}

bool Tiers::has_service() const {
  return std::any_of(tiers_.begin(), tiers_.end(),
                     [](const auto& tier) { return tier->compiles(); });
}

void Tiers::put_later(const std::shared_ptr<const cache::Entry>& entry, std::size_t count,
                      FleetLease lease) {
  std::vector<RemoteTier*> takers;
  for (std::size_t i = 0; i < std::min(count, tiers_.size()); ++i) {
    if (tiers_[i]->writable()) {
      takers.push_back(tiers_[i].get());
    }
  }
  if (takers.empty()) {
    return;
  }
  const auto drop = [](const std::vector<RemoteTier*>& them) {
    for (RemoteTier* const tier : them) {
      tier->count(TierCounter::kDropped);
    }
  };
  const std::size_t bytes = entry->code.size() + entry->metadata.size() + entry->key_text.size();
  const auto held = std::make_shared<FleetLease>(std::move(lease));
  const bool queued = writer_.submit(bytes, [=](const TaskTurn& turn) {
    if (turn.abandoned) {
      held->forget();
      drop(takers);
      return;
    }
    for (RemoteTier* const tier : takers) {
      static_cast<void>(tier->put(*entry, turn.deadline));
    }
    held->release();
  });
  if (!queued) {
    drop(takers);
  }
}

Tiers::LeaseAttempt Tiers::acquire(const Name& name) {
  LeaseAttempt attempt;
  for (const std::unique_ptr<RemoteTier>& tier : tiers_) {
    if (tier->has_leases()) {
      attempt.tier = tier.get();
      attempt.reply = tier->acquire(name, options_.fleet.duration, attempt.token);
      if (answered(attempt.reply)) {
        break;
      }
    }
  }
  return attempt;
}

FleetTurn Tiers::take_turn(const Name& name, const std::function<bool()>& look, FleetLease& lease) {
  const FleetTimings& timings = options_.fleet;
  const nanoseconds begin = clock_.since_boot();
  std::minstd_rand random{std::random_device()()};
  nanoseconds pause = timings.poll_first;
  bool waited = false;
  for (;;) {
    LeaseAttempt attempt = acquire(name);
    if (!answered(attempt.reply)) {
      return FleetTurn::kCompile;
    }
    if (attempt.reply == LeaseReply::kAcquired) {
      lease = FleetLease(*attempt.tier, name, std::move(attempt.token), timings);
      // Its last holder may have stored the entry since this caller looked.
      if (look()) {
        lease.release();
        return FleetTurn::kFound;
      }
      return FleetTurn::kLease;
    }
    const nanoseconds limit = attempt.tier->lease_wait().value_or(timings.limit);
    const nanoseconds left = limit - (clock_.since_boot() - begin);
    if (left.count() <= 0) {
      return FleetTurn::kCompile;
    }
    if (!waited) {
      attempt.tier->count(TierCounter::kWaits);
      waited = true;
    }
    // Uneven, so that a fleet that began at once does not ask at once.
    const double part = std::uniform_real_distribution<double>(0.5, 1.0)(random);
    const auto uneven = static_cast<std::int64_t>(static_cast<double>(pause.count()) * part);
    clock_.sleep(std::min(nanoseconds(uneven), left));
    pause = std::min<nanoseconds>(pause + pause / 2, timings.poll_last);
    if (look()) {
      return FleetTurn::kFound;
    }
  }
}

std::vector<RemoteTierStats> Tiers::stats() const {
  std::vector<RemoteTierStats> all;
  all.reserve(tiers_.size());
  for (const std::unique_ptr<RemoteTier>& tier : tiers_) {
    all.push_back(tier->stats());
  }
  return all;
}

}  // namespace quantjit::remote

// SPDX-License-Identifier: Apache-2.0
// The remote tiers of one service, in lookup order, and what they do in the background.
#pragma once

#include "cache/clock.hpp"
#include "cache/entry.hpp"
#include "src/remote/lease.hpp"
#include "src/remote/options.hpp"
#include "src/remote/tier.hpp"
#include "src/remote/writer.hpp"

#include <quantjit/remote.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace quantjit::remote {

/// What a caller that missed everywhere shall do.
enum class FleetTurn : std::uint8_t {
  kFound,    ///< its look has found the entry: another machine compiled it
  kLease,    ///< compile: others wait for it
  kCompile,  ///< compile without a lease: none can be had, or the wait reached its limit
};

/// Thread safe.
class Tiers {
 public:
  /// @param clock outlives the tiers
  Tiers(std::vector<std::unique_ptr<RemoteTier>> tiers, RemoteOptions options,
        cache::Clock& clock = cache::system_clock());
  Tiers(const Tiers&) = delete;
  Tiers& operator=(const Tiers&) = delete;
  /// Waits for what is in the queue, at most for the flush limit.
  ~Tiers();

  [[nodiscard]] std::size_t size() const { return tiers_.size(); }

  [[nodiscard]] RemoteTier& operator[](std::size_t i) const { return *tiers_[i]; }

  [[nodiscard]] bool has_leases() const;
  [[nodiscard]] bool has_service() const;

  [[nodiscard]] cache::Clock& clock() const { return clock_; }

  /// Stores an entry in the writable ones of the first `count` tiers, in the background, and then
  /// gives `lease` back. What does not fit into the queue is counted as dropped.
  void put_later(const std::shared_ptr<const cache::Entry>& entry, std::size_t count,
                 FleetLease lease = {});

  /// For whoever would fill the queue otherwise: waits until half of it is free.
  void wait_for_room() { writer_.wait_for_room(); }

  /// Waits until all that was queued is done. False if that took longer.
  bool flush(std::chrono::milliseconds timeout) { return writer_.flush(timeout); }

  /// Waits until `look` finds, or this caller holds the lease of `name`, at most for the limit of
  /// the timings. Looks again after the lease is gained, so a caller that got kLease is the one.
  /// The first tier that answers keeps the lease.
  FleetTurn take_turn(const Name& name, const std::function<bool()>& look, FleetLease& lease);

  [[nodiscard]] std::vector<RemoteTierStats> stats() const;

 private:
  struct LeaseAttempt {
    LeaseReply reply = LeaseReply::kFailed;
    RemoteTier* tier = nullptr;
    std::string token;
  };

  LeaseAttempt acquire(const Name& name);

  std::vector<std::unique_ptr<RemoteTier>> tiers_;
  const RemoteOptions options_;
  cache::Clock& clock_;
  Writer writer_;  // last, so that its thread is gone before what it uses
};

}  // namespace quantjit::remote

// SPDX-License-Identifier: Apache-2.0
// The right to compile one request among all machines that share a tier, as long as it is held. It
// saves work and decides nothing: whoever compiles without it does no harm.
#pragma once

#include "src/remote/options.hpp"
#include "src/remote/tier.hpp"

#include <memory>
#include <string>

namespace quantjit::remote {

/// A held lease. Move-only; the destructor gives it back. A thread of its own renews it. Must not
/// be used in a child after fork: there it does nothing. One thread at a time; must not outlive the
/// tier.
class FleetLease {
 public:
  FleetLease() noexcept;
  FleetLease(RemoteTier& tier, Name name, std::string token, const FleetTimings& timings);
  FleetLease(FleetLease&&) noexcept;
  FleetLease& operator=(FleetLease&&) noexcept;
  FleetLease(const FleetLease&) = delete;
  FleetLease& operator=(const FleetLease&) = delete;
  ~FleetLease();

  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

  /// False if it has run out and perhaps somebody else holds it.
  bool renew();
  /// Gives it back: one call to the server.
  void release() noexcept;
  /// Lets it run out: no call, no wait for one.
  void forget() noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace quantjit::remote

// SPDX-License-Identifier: Apache-2.0
// How remote tiers as a whole behave.
#pragma once

#include "src/remote/writer.hpp"

#include <chrono>

namespace quantjit::remote {

/// How machines wait for each other's compiles. Trade-off of `duration`: shorter recovers sooner
/// from a machine that died, longer tolerates a server that is slow to renew.
struct FleetTimings {
  std::chrono::milliseconds duration{10000};    ///< of a lease
  std::chrono::milliseconds renew_every{3000};  ///< while it is held; 0: no thread, renew by hand
  std::chrono::milliseconds limit{30000};       ///< of the wait for a holder; then compile anyway
  std::chrono::milliseconds poll_first{25};
  std::chrono::milliseconds poll_last{1000};
};

struct RemoteOptions {
  QueueLimits queue = {};
  std::chrono::milliseconds flush_limit{2000};  ///< when the service ends
  FleetTimings fleet = {};
};

}  // namespace quantjit::remote

// SPDX-License-Identifier: Apache-2.0
// What remote tiers count: servers that many machines keep their kernels on.
#pragma once

#include <cstdint>
#include <string>

namespace quantjit {

/// One remote tier of a service: what it is, and its counters since the service was made. See
/// `KernelService::remote_stats`.
struct RemoteTierStats {
  std::string label;           ///< scheme and host; several hosts separated by commas. No secrets
  bool writable = false;       ///< entries are put there
  bool leases = false;         ///< machines agree there who compiles
  bool compiles = false;       ///< it is a compile service
  bool benched = false;        ///< a server of it failed and is left alone now
  std::uint64_t hits = 0;      ///< entries taken from it
  std::uint64_t misses = 0;    ///< look-ups that it answered with "not there"
  std::uint64_t failures = 0;  ///< calls that it refused, or did not answer in time or with sense
  std::uint64_t rejected = 0;  ///< answers that were no entry of the wanted key
  std::uint64_t puts = 0;      ///< entries stored
  std::uint64_t put_failures = 0;  ///< entries that it did not take
  std::uint64_t dropped = 0;       ///< entries that were not sent: the queue was full, or closed
  std::uint64_t skipped = 0;       ///< calls that were not made while it was benched
  std::uint64_t waits = 0;         ///< times another machine's compile was waited for
  std::uint64_t service_compiles = 0;  ///< entries that it compiled for this service
  std::uint64_t bytes_read = 0;        ///< of answers to look-ups and compiles
  std::uint64_t bytes_written = 0;     ///< of entries stored
  std::string last_error;              ///< of the last failure; empty if there was none
};

}  // namespace quantjit

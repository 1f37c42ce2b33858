// SPDX-License-Identifier: Apache-2.0
// Which process holds a lease, and whether it still runs.
#pragma once

#include <cstdint>
#include <string>

namespace quantjit::cache {

/// A process, told apart from all others: of other hosts, of other containers on the same kernel,
/// and from later processes that got the same id.
struct ProcessIdentity {
  std::string host;    ///< node name, for messages only: containers often share one
  std::string kernel;  ///< boot id, pid and time namespaces; empty if they cannot be known
  std::int64_t pid = 0;
  std::uint64_t start = 0;  ///< clock ticks after boot, as in /proc/<pid>/stat; 0 if unknown

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// The calling process. Asked anew each time, since fork changes the answer.
[[nodiscard]] ProcessIdentity current_process();

/// Whether ids, start times and time since boot of both mean the same things.
[[nodiscard]] bool comparable(const ProcessIdentity& a, const ProcessIdentity& b);

/// Whether `owner` certainly has ended. False for owners that cannot be looked at from `self`.
[[nodiscard]] bool has_ended(const ProcessIdentity& owner, const ProcessIdentity& self);

}  // namespace quantjit::cache

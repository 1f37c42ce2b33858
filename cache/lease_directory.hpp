// SPDX-License-Identifier: Apache-2.0
// Taking, keeping, taking over and giving back leases in one root. The protocol is in
// cache/README.md.
#pragma once

#include "cache/context.hpp"
#include "cache/lease_record.hpp"
#include "cache/root.hpp"
#include "cache/store.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace quantjit::cache {

/// What a waiter has seen of files that it may have to give up on. A holder whose clock means
/// nothing here is judged by how long its file has not changed before the waiter's own eyes.
class Observation {
 public:
  /// How long `content` has stood unchanged, counting from the first call with it.
  std::chrono::nanoseconds unchanged_for(const std::string& content, std::chrono::nanoseconds now);

 private:
  std::string content_;
  std::chrono::nanoseconds since_{0};
};

/// What one wait keeps between its tries.
struct LeaseWatch {
  ProcessIdentity self = current_process();
  Observation lease;
  Observation claim;
};

class LeaseDirectory {
 public:
  LeaseDirectory(Context& context, Root& root) : context_(context), root_(root) {}

  /// One try. `watch` must be the same over the tries of one wait. As long as a holder is alive, a
  /// try only reads.
  LeaseAttempt acquire(const EntryKey& key, LeaseWatch& watch);

  /// Gives back the leases of processes that have certainly ended. Returns how many.
  std::size_t release_dead();

 private:
  struct Candidate;

  IoError prepare(Candidate& candidate);
  IoError place(Candidate& candidate);
  IoError place_without_links(Candidate& candidate);
  IoError take_over(Candidate& candidate, const std::string& content, LeaseWatch& watch);
  void drop_stale_claim(const std::string& claim, LeaseWatch& watch);
  [[nodiscard]] bool gone_quiet(const std::string& content, const ProcessIdentity& self,
                                Observation& observation);
  void discard(Candidate& candidate);
  LeaseAttempt succeed(Candidate& candidate);

  Context& context_;
  Root& root_;
};

/// Path of the claim that guards the end of one particular holding.
[[nodiscard]] std::string claim_path(const std::string& lease_path, const std::string& content);

}  // namespace quantjit::cache

// SPDX-License-Identifier: Apache-2.0
// Finding, publishing and waiting; store_maintenance.cpp has listing, limits and removal.
#include "cache/store.hpp"

#include "cache/head_reader.hpp"
#include "cache/lease_directory.hpp"
#include "cache/store_core.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace quantjit::cache {

CubinStore::CubinStore(StoreOptions options) : core_(std::make_unique<Core>(std::move(options))) {}

CubinStore::~CubinStore() = default;

LookupResult CubinStore::lookup(const EntryKey& key, std::string_view key_text) {
  LookupResult result = core_->find(key, key_text);
  if (!result.found()) {
    core_->context.counters->add(Counter::kMisses);
  }
  return result;
}

std::vector<CubinStore::Core::Candidate> CubinStore::Core::candidates(const std::string& request) {
  std::vector<Candidate> found;
  for (std::size_t layer = 0; layer < roots().size(); ++layer) {
    Root& root = *roots()[layer];
    const std::shared_ptr<const RootState> state = root.state();
    if (!state->trusted || !state->exists) {
      continue;
    }
    for (EntryKey& key : scan_request(context, root, request)) {
      const auto head = read_head(context.files, root.entry_path(key));
      found.push_back({head ? head->toolchain_rank : 0, layer, std::move(key)});
    }
  }
  // The ranks are not verified yet; a wrong one costs no more than a worse choice among good
  // entries, for only verified entries are found.
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(b.rank, a.layer, a.key) < std::tie(a.rank, b.layer, b.key);
  });
  return found;
}

LookupResult CubinStore::lookup_any_toolchain(const std::string& request,
                                              std::string_view key_text) {
  LookupResult result;
  for (const Core::Candidate& candidate : core_->candidates(request)) {
    if (core_->find_in_layer(candidate.layer, candidate.key, key_text, result)) {
      core_->context.counters->add(Counter::kHitsAnyToolchain);
      return result;
    }
  }
  core_->context.counters->add(Counter::kMisses);
  return result;
}

std::vector<EntryKey> CubinStore::keys_of(const std::string& request) {
  std::vector<EntryKey> keys;
  for (Core::Candidate& candidate : core_->candidates(request)) {
    if (std::find(keys.begin(), keys.end(), candidate.key) == keys.end()) {
      keys.push_back(std::move(candidate.key));
    }
  }
  return keys;
}

LookupResult CubinStore::peek(const EntryKey& key) {
  LookupResult result;
  for (const std::unique_ptr<Root>& root : core_->roots()) {
    ReadOutcome outcome = root->read(key, std::nullopt);
    if (outcome.status == ReadStatus::kAbsent) {
      continue;
    }
    result.path = outcome.path;
    if (outcome.status == ReadStatus::kFound) {
      result.status = LookupStatus::kFound;
      result.entry = std::move(outcome.entry);
      result.reason.clear();
      break;
    }
    result.status = LookupStatus::kRejected;
    result.reason = outcome.status == ReadStatus::kRejected
                        ? std::string(rejection_text(outcome.rejection))
                        : "it cannot be read: " + describe_error(outcome.error);
  }
  return result;
}

PublishOutcome CubinStore::publish(const Entry& entry) {
  return core_->publish(entry);
}

LeaseAttempt CubinStore::acquire_lease(const EntryKey& key) {
  Root* root = core_->write_root();
  if (root == nullptr) {
    return {};
  }
  LeaseWatch watch;
  return LeaseDirectory(core_->context, *root).acquire(key, watch);
}

std::size_t CubinStore::release_dead_leases() {
  Root* root = core_->write_root();
  return root != nullptr ? LeaseDirectory(core_->context, *root).release_dead() : 0;
}

Turn CubinStore::wait_for_entry_or_lease(const EntryKey& key, std::string_view key_text) {
  Context& context = core_->context;
  const LeaseTimings& timings = context.options.lease;
  Turn turn;
  Root* root = core_->write_root();
  if (root == nullptr) {
    turn.reason = "no cache root can be written";
    return turn;
  }
  const auto look = [&] {
    LookupResult result = core_->find(key, key_text);
    if (result.found()) {
      turn.status = TurnStatus::kFound;
      turn.entry = std::move(result.entry);
      turn.path = std::move(result.path);
    }
    return turn.found();
  };
  LeaseDirectory leases(context, *root);
  LeaseWatch watch;
  const std::chrono::nanoseconds deadline = context.clock.since_boot() + timings.limit;
  std::chrono::nanoseconds pause = timings.poll_first;
  int retries = 3;  // of errors that network file systems report for a moment
  for (bool first = true;; first = false) {
    LeaseAttempt attempt = leases.acquire(key, watch);
    if (attempt.status == LeaseStatus::kAcquired) {
      // To list a directory makes network file systems forget that a name was not there before.
      static_cast<void>(context.files.list(root->shard_path(key.request)));
      if (!look()) {
        turn.lease = std::move(attempt.lease);
        turn.status = TurnStatus::kLease;
      }
      return turn;
    }
    const bool passing = attempt.error == ESTALE || attempt.error == EBUSY;
    if (attempt.status == LeaseStatus::kUnavailable && (!passing || --retries < 0)) {
      context.counters->add(Counter::kLeaseUnavailable);
      context.report_error(root->path(), attempt.error, "taking a lease");
      turn.reason = "no lease can be taken: " + describe_error(attempt.error);
      return turn;
    }
    if (first && attempt.status == LeaseStatus::kHeld) {
      context.counters->add(Counter::kLeaseWaited);
    }
    const std::chrono::nanoseconds left = deadline - context.clock.since_boot();
    if (left.count() <= 0) {
      context.counters->add(Counter::kLeaseTimedOut);
      turn.reason = attempt.holder.text() + " has held the lease for too long";
      return turn;
    }
    context.clock.sleep(std::min(pause, left));
    pause = std::min(pause * 3 / 2, timings.poll_last);
    if (look()) {
      return turn;
    }
  }
}

}  // namespace quantjit::cache

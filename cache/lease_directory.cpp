// SPDX-License-Identifier: Apache-2.0
#include "cache/lease_directory.hpp"

#include "cache/lease_state.hpp"
#include "src/base/sha256.hpp"

#include <cerrno>
#include <utility>

namespace quantjit::cache {
namespace {

constexpr std::size_t kMaxLeaseBytes = 4096;

bool has_no_links(IoError error) {
  return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
}

}  // namespace

/// A lease file of our own that is not in its place yet.
struct LeaseDirectory::Candidate {
  std::string path;
  std::string temporary;
  int file = -1;
  FileStatus status;
  LeaseRecord record;
};

std::chrono::nanoseconds Observation::unchanged_for(const std::string& content,
                                                    std::chrono::nanoseconds now) {
  if (content != content_ || since_.count() == 0) {
    content_ = content;
    since_ = now;
  }
  return now - since_;
}

std::string claim_path(const std::string& lease_path, const std::string& content) {
  const std::optional<LeaseRecord> record = parse_lease(content);
  return lease_path + ".claim-" +
         (record ? record->token : base::to_hex(base::sha256(content)).substr(0, 32));
}

LeaseAttempt LeaseDirectory::acquire(const EntryKey& key, LeaseWatch& watch) {
  LeaseAttempt attempt;
  Candidate candidate;
  const std::string directory = root_.area_path("leases");
  candidate.path = directory + "/" + key.name() + ".lease";
  const IoResult<std::string> current =
      read_small_file(context_.files, candidate.path, kMaxLeaseBytes);
  if (current.ok()) {
    attempt.status = LeaseStatus::kHeld;
    if (const std::optional<LeaseRecord> record = parse_lease(current.value)) {
      attempt.holder = {record->owner.host, record->owner.pid};
    }
    if (!gone_quiet(current.value, watch.self, watch.lease)) {
      return attempt;
    }
  }
  candidate.temporary = directory + "/" + std::string(kTemporaryPrefix) + unique_token();
  candidate.record.token = unique_token();
  candidate.record.owner = watch.self;
  IoError error = prepare(candidate);
  if (error == ENOENT && root_.make_directories(directory) == 0) {
    error = prepare(candidate);
  }
  if (error == 0) {
    error = current.ok() ? take_over(candidate, current.value, watch) : place(candidate);
  }
  if (error == 0) {
    context_.counters->add(Counter::kLeaseTakenOver, current.ok() ? 1 : 0);
    return succeed(candidate);
  }
  discard(candidate);
  attempt.status = error == EEXIST ? LeaseStatus::kHeld : LeaseStatus::kUnavailable;
  attempt.error = error;
  return attempt;
}

std::size_t LeaseDirectory::release_dead() {
  constexpr std::string_view kEnding = ".lease";
  const std::string directory = root_.area_path("leases");
  std::size_t released = 0;
  for (const std::string& name : context_.files.list(directory).value) {
    if (!name.ends_with(kEnding)) {
      continue;
    }
    const std::optional<EntryKey> key =
        EntryKey::parse(std::string_view(name).substr(0, name.size() - kEnding.size()));
    const std::optional<LeaseRecord> record =
        parse_lease(read_small_file(context_.files, directory + "/" + name, kMaxLeaseBytes).value);
    LeaseWatch watch;
    // Taken over, then given back at once: what guards against others that see the same does so
    // here.
    if (key && record && has_ended(record->owner, watch.self) &&
        acquire(*key, watch).status == LeaseStatus::kAcquired) {
      ++released;
    }
  }
  return released;
}

/// Writes the candidate's file under a name of its own.
IoError LeaseDirectory::prepare(Candidate& candidate) {
  FileSystem& files = context_.files;
  const IoResult<int> file = files.create(candidate.temporary, root_.state()->file_mode);
  if (!file.ok()) {
    return file.error;
  }
  candidate.file = file.value;
  candidate.record.beat_time = context_.clock.since_boot();
  if (const IoError error = write_all(files, candidate.file, 0, format_lease(candidate.record));
      error != 0) {
    return error;
  }
  const IoResult<FileStatus> status = files.status(candidate.file);
  candidate.status = status.value;
  return status.error;
}

/// Puts the file in its place if there is none. A link brings name and content at once.
IoError LeaseDirectory::place(Candidate& candidate) {
  const IoError error = context_.files.link(candidate.temporary, candidate.path);
  if (error == 0) {
    return 0;
  }
  if (has_no_links(error)) {
    return place_without_links(candidate);
  }
  // The answer of a network file system may be that of a repeated request: the count tells.
  const IoResult<FileStatus> status = context_.files.status(candidate.file);
  return status.ok() && status.value.links == 2 ? 0 : error;
}

IoError LeaseDirectory::place_without_links(Candidate& candidate) {
  FileSystem& files = context_.files;
  const IoResult<int> file = files.create(candidate.path, root_.state()->file_mode);
  if (!file.ok()) {
    return file.error;
  }
  static_cast<void>(files.close(candidate.file));
  candidate.file = file.value;
  static_cast<void>(write_all(files, candidate.file, 0, format_lease(candidate.record)));
  const IoResult<FileStatus> status = files.status(candidate.file);
  candidate.status = status.value;
  return status.error;
}

/// Whether the process that wrote `content` has ended, or has not given a sign of life for too
/// long.
bool LeaseDirectory::gone_quiet(const std::string& content, const ProcessIdentity& self,
                                Observation& observation) {
  const std::chrono::nanoseconds now = context_.clock.since_boot();
  const std::chrono::nanoseconds silence = context_.options.lease.silence;
  // Asked first: the observation must begin now, even if the rest decides this time.
  const bool unchanged = observation.unchanged_for(content, now) >= silence;
  const std::optional<LeaseRecord> record = parse_lease(content);
  if (!record || !comparable(record->owner, self)) {
    return unchanged;
  }
  return unchanged || has_ended(record->owner, self) || now - record->beat_time >= silence;
}

/// Replaces a given-up lease by the candidate. Of all that try, one gets the claim. EEXIST if that
/// was another, or if the lease is not the given-up one any more.
IoError LeaseDirectory::take_over(Candidate& candidate, const std::string& content,
                                  LeaseWatch& watch) {
  FileSystem& files = context_.files;
  const std::string claim = claim_path(candidate.path, content);
  IoError error = files.link(candidate.temporary, claim);
  if (has_no_links(error)) {
    const IoResult<int> file = files.create(claim, root_.state()->file_mode);
    if (file.ok()) {
      static_cast<void>(files.close(file.value));
    }
    error = file.error;
  }
  if (error == EEXIST) {
    drop_stale_claim(claim, watch);
  }
  if (error != 0) {
    return error;
  }
  // The holder may have come back, or another may have taken over while we made up our mind.
  const IoResult<std::string> now = read_small_file(files, candidate.path, kMaxLeaseBytes);
  bool taken = now.ok() && now.value == content;
  if (taken) {
    static_cast<void>(files.rename(candidate.temporary, candidate.path));
    const IoResult<FileStatus> status = files.status(candidate.path);
    taken = status.ok() && status.value.same_file(candidate.status);
  }
  static_cast<void>(files.unlink(claim));
  return taken ? 0 : EEXIST;
}

/// Removes the claim of a process that died while taking over.
void LeaseDirectory::drop_stale_claim(const std::string& claim, LeaseWatch& watch) {
  const IoResult<std::string> content = read_small_file(context_.files, claim, kMaxLeaseBytes);
  if (content.ok() && gone_quiet(content.value, watch.self, watch.claim)) {
    static_cast<void>(context_.files.unlink(claim));
  }
}

void LeaseDirectory::discard(Candidate& candidate) {
  if (candidate.file >= 0) {
    static_cast<void>(context_.files.close(candidate.file));
    static_cast<void>(context_.files.unlink(candidate.temporary));
    candidate.file = -1;
  }
}

LeaseAttempt LeaseDirectory::succeed(Candidate& candidate) {
  static_cast<void>(context_.files.unlink(candidate.temporary));
  LeaseAttempt attempt;
  attempt.status = LeaseStatus::kAcquired;
  attempt.lease = Lease(std::make_unique<Lease::State>(Lease::State::Parts{
      &context_.files, &context_.clock, context_.counters, candidate.path, candidate.file,
      candidate.status, std::move(candidate.record), context_.options.lease.heartbeat}));
  context_.counters->add(Counter::kLeaseAcquired);
  return attempt;
}

}  // namespace quantjit::cache

// SPDX-License-Identifier: Apache-2.0
#include "cache/lease.hpp"

#include "cache/lease_directory.hpp"
#include "cache/lease_state.hpp"

#include <cerrno>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace quantjit::cache {

std::string LeaseHolder::text() const {
  if (pid == 0) {
    return "an unknown process";
  }
  return "process " + std::to_string(pid) + " on " + (host.empty() ? "an unknown host" : host);
}

Lease::Lease() noexcept = default;

Lease::Lease(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

Lease::Lease(Lease&&) noexcept = default;

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    release();
    state_ = std::move(other.state_);
  }
  return *this;
}

Lease::~Lease() {
  release();
}

bool Lease::heartbeat() {
  return state_ != nullptr && !state_->belongs_to_parent() && state_->beat();
}

void Lease::release() noexcept {
  if (state_ != nullptr && state_->belongs_to_parent()) {
    // A forked child does not own what its parent holds, and it has a copy of a condition variable
    // with a waiter that does not exist here: destroying that would wait for ever.
    static_cast<void>(state_.release());
  }
  state_.reset();
}

Lease::State::State(Parts parts) : parts_(std::move(parts)), creator_(::getpid()) {
  if (parts_.interval.count() > 0) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      // No thread can be had. Without heartbeats the lease may be taken over in a while, which
      // costs a compile and nothing else.
    }
  }
}

Lease::State::~State() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  give_back();
  static_cast<void>(parts_.files->close(parts_.file));
}

bool Lease::State::belongs_to_parent() const {
  return creator_ != ::getpid();
}

void Lease::State::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, parts_.interval, [this] { return stopping_; })) {
    lock.unlock();
    beat();
    lock.lock();
  }
}

bool Lease::State::beat() {
  const std::lock_guard lock(mutex_);
  ++parts_.record.beats;
  parts_.record.beat_time = parts_.clock->since_boot();
  // Written through the open descriptor: if the lease was taken over, only our own orphaned file
  // changes. The time stamp makes network file systems send the bytes out.
  static_cast<void>(
      write_all(*parts_.files, parts_.file, kBeatLineOffset, format_beat(parts_.record)));
  if (!lost_ && !still_mine()) {
    lost_ = true;
    parts_.counters->add(Counter::kLeaseLost);
  }
  if (!lost_) {
    static_cast<void>(parts_.files->set_modified(parts_.path, parts_.clock->since_epoch()));
  }
  return !lost_;
}

/// Whether the file at the lease's path is the one that was put there.
bool Lease::State::still_mine() {
  const IoResult<FileStatus> now = parts_.files->status(parts_.path);
  // Other errors say nothing about who holds it.
  return now.ok() ? now.value.same_file(parts_.status) : now.error != ENOENT;
}

void Lease::State::give_back() {
  if (!still_mine()) {
    return;
  }
  // Between the look above and the deletion below nobody may take over, or the successor's lease
  // would be deleted; a taker needs the same claim.
  const std::string claim = claim_path(parts_.path, format_lease(parts_.record));
  const IoResult<int> guard = parts_.files->create(claim, 0600);
  if (!guard.ok()) {
    return;  // being taken over right now, or the root has become read-only
  }
  static_cast<void>(parts_.files->close(guard.value));
  if (still_mine()) {
    static_cast<void>(parts_.files->unlink(parts_.path));
  }
  static_cast<void>(parts_.files->unlink(claim));
}

}  // namespace quantjit::cache

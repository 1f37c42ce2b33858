// SPDX-License-Identifier: Apache-2.0
#include "src/serve/connections.hpp"

#include <algorithm>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace quantjit::serve {
namespace {

bool has_unread_bytes(int socket) {
  int bytes = 0;
  return ::ioctl(socket, FIONREAD, &bytes) == 0 && bytes > 0;
}

}  // namespace

Connections::Connections(std::size_t limit, std::chrono::milliseconds timeout)
    : limit_(limit), timeout_(timeout), watcher_([this] { watch(); }) {}

Connections::~Connections() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  watcher_.join();
}

void Connections::opened(const void* connection, int socket) {
  const std::lock_guard lock(mutex_);
  ++opened_;
  table_[connection] = {.socket = socket, .phase = Phase::kHead, .since = Clock::now()};
  make_room();
}

void Connections::closed(const void* connection) {
  const std::lock_guard lock(mutex_);
  table_.erase(connection);
}

void Connections::enter(const void* connection, Phase phase) {
  const std::lock_guard lock(mutex_);
  if (const auto found = table_.find(connection); found != table_.end()) {
    found->second.phase = phase;
    found->second.since = Clock::now();
  }
}

void Connections::end_idle() {
  const std::lock_guard lock(mutex_);
  for (auto& [connection, state] : table_) {
    if (state.phase == Phase::kHead) {
      end(state);
    }
  }
}

Connections::Census Connections::census() const {
  const std::lock_guard lock(mutex_);
  Census census{.open = table_.size(),
                .busy = 0,
                .working = 0,
                .opened = opened_,
                .timed_out = timed_out_,
                .crowded_out = crowded_out_};
  for (const auto& [connection, state] : table_) {
    census.working += static_cast<std::size_t>(state.phase == Phase::kWork);
    census.busy += static_cast<std::size_t>(
        !state.ended && (state.phase != Phase::kHead || has_unread_bytes(state.socket)));
  }
  return census;
}

/// The server finds the end of the stream and closes it.
void Connections::end(Connection& connection) {
  if (!connection.ended) {
    connection.ended = true;
    ::shutdown(connection.socket, SHUT_RDWR);
  }
}

/// Room for new ones is kept in time, since at the limit nobody new is heard at all.
void Connections::make_room() {
  if (table_.size() <= limit_ - limit_ / 8) {
    return;
  }
  Connection* longest = nullptr;
  for (auto& [connection, state] : table_) {
    if (!state.ended && state.phase == Phase::kHead &&
        (longest == nullptr || state.since < longest->since)) {
      longest = &state;
    }
  }
  if (longest != nullptr) {
    ++crowded_out_;
    end(*longest);
  }
}

void Connections::watch() {
  const auto pause =
      std::clamp(timeout_ / 8, std::chrono::milliseconds(10), std::chrono::milliseconds(500));
  std::unique_lock lock(mutex_);
  while (!ending_) {
    changed_.wait_for(lock, pause);
    const Clock::time_point now = Clock::now();
    for (auto& [connection, state] : table_) {
      if (!state.ended && state.phase != Phase::kWork && now - state.since > timeout_) {
        ++timed_out_;
        end(state);
      }
    }
  }
}

}  // namespace quantjit::serve

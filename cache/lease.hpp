// SPDX-License-Identifier: Apache-2.0
// The right to compile one key, held by one process at a time: a small file with owner and
// heartbeat. It saves work and decides nothing: whoever compiles without it does no harm.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace quantjit::cache {

/// Who holds a lease, for messages.
struct LeaseHolder {
  std::string host;
  std::int64_t pid = 0;

  /// e.g. "process 4711 on node-3"
  [[nodiscard]] std::string text() const;
};

/// A held lease. Move-only; the destructor releases it. A thread of its own keeps the heartbeat.
/// Must not be used in a child after fork: there it does nothing. Thread safety: one thread at a
/// time. May outlive the store, but not the store's file system and clock.
class Lease {
 public:
  class State;

  Lease() noexcept;
  explicit Lease(std::unique_ptr<State> state) noexcept;
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease();

  /// Whether this object holds, or held, a lease that it has not released.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

  /// Writes a sign of life. False if another process has taken the lease over.
  bool heartbeat();
  /// Gives the lease back. If another process has taken it over, its lease is left alone.
  void release() noexcept;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace quantjit::cache

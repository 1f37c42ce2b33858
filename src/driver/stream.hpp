// SPDX-License-Identifier: Apache-2.0
// Streams, events and stream capture.
#pragma once

#include "src/driver/driver_api.hpp"

#include <cstdint>

namespace quantjit::driver {

/// Where a stream stands with graph capture.
enum class CaptureState : std::uint8_t {
  kNone,         ///< work runs
  kActive,       ///< work is recorded into a graph
  kInvalidated,  ///< a capture that has already failed and was not ended yet
  kForbidden,  ///< the legacy default stream while another stream of the context is captured: using
               ///< it breaks that
};

/// Asks, without disturbing a capture. Throws: DriverError.
[[nodiscard]] CaptureState capture_state(const DriverApi& api, CUstream_st* stream);

/// Lets the calling thread make calls that a capture would forbid, for a scope (relaxed thread
/// capture mode), and puts the thread's mode back. To be destroyed on the thread that made it.
class RelaxedCaptureGuard {
 public:
  /// Throws: DriverError.
  explicit RelaxedCaptureGuard(const DriverApi& api);
  RelaxedCaptureGuard(const RelaxedCaptureGuard&) = delete;
  RelaxedCaptureGuard& operator=(const RelaxedCaptureGuard&) = delete;
  RelaxedCaptureGuard(RelaxedCaptureGuard&&) = delete;
  RelaxedCaptureGuard& operator=(RelaxedCaptureGuard&&) = delete;
  ~RelaxedCaptureGuard();

 private:
  const DriverApi& api_;
  int previous_mode_;
};

/// Waits until all work on a stream has ended. Throws: DriverError, also for a failure of that
/// work.
void synchronize(const DriverApi& api, CUstream_st* stream);

/// Owner of a stream that does not synchronize with the legacy default stream. Move-only.
class StreamOwner {
 public:
  /// Throws: DriverError.
  StreamOwner(const DriverApi& api, int ordinal);
  StreamOwner(StreamOwner&& other) noexcept;
  StreamOwner& operator=(StreamOwner&& other) noexcept;
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;
  ~StreamOwner();

  [[nodiscard]] CUstream_st* get() const noexcept { return handle_; }

  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }

  void synchronize() const { driver::synchronize(*api_, handle_); }

  /// Gives the handle up; the caller destroys it.
  [[nodiscard]] CUstream_st* release() noexcept;

 private:
  void destroy() noexcept;

  const DriverApi* api_;
  int ordinal_;
  CUstream_st* handle_ = nullptr;
};

/// Owner of an event with timing. Move-only.
class Event {
 public:
  /// Throws: DriverError.
  Event(const DriverApi& api, int ordinal);
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  [[nodiscard]] CUevent_st* get() const noexcept { return handle_; }

  /// Records the event at the end of what is on the stream now. Throws: DriverError.
  void record(CUstream_st* stream) const;
  /// Waits for the recorded point. Throws: DriverError.
  void synchronize() const;
  /// Milliseconds from `start` to this event, both recorded and reached. Throws: DriverError.
  [[nodiscard]] float milliseconds_since(const Event& start) const;

 private:
  void destroy() noexcept;

  const DriverApi* api_;
  int ordinal_;
  CUevent_st* handle_ = nullptr;
};

}  // namespace quantjit::driver

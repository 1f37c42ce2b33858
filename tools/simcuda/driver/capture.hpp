// SPDX-License-Identifier: Apache-2.0
// Stream capture: which calls are recorded, which are forbidden, and what a forbidden call does.
#pragma once

#include "commands.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace quantjit::simdriver {

class Context;
class Stream;
struct Graph;

/// One capture sequence. Guarded by the capture lock, as all of this header's state is.
struct Capture {
  std::uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id owner;
  bool valid = true;
  bool ended = false;
  Stream* origin = nullptr;
  Context* context = nullptr;
  std::vector<std::weak_ptr<Stream>> members;
  std::shared_ptr<Graph> graph;
};

/// A stream's part in a capture: the nodes that its next node depends on.
struct StreamCapture {
  std::shared_ptr<Capture> capture;  ///< null while the stream is not captured
  std::vector<std::size_t> tail;
};

/// What an event recorded inside a capture stands for.
struct CapturedRecord {
  std::shared_ptr<Capture> capture;  ///< null when last recorded outside of one
  std::vector<std::size_t> tail;
};

/// Records the command when the stream is captured. Fails when the capture is invalid, and when the
/// stream is the legacy default stream while a stream ordered with it is captured.
[[nodiscard]] bool record_if_capturing(Stream& stream, const Command& command);

/// The front part of a potentially unsafe call: fails, and invalidates, as the capture modes say.
void forbid_unsafe_call();

/// A call that waits for, or asks about, all of a context or one stream.
void forbid_synchronizing(const Context& context);
void forbid_synchronizing(const Stream& stream);

/// A call on a stream that cannot be recorded, such as a synchronous copy.
void forbid_recording(const Stream& stream);

/// Records an event: the record to remember, whose capture is null outside of captures.
[[nodiscard]] CapturedRecord record_event(Stream& stream);

/// Lets a stream wait for a captured event, which joins it to the capture. `recorded` says whether
/// the event was ever recorded. True when that settled the wait.
[[nodiscard]] bool wait_for_captured(const std::shared_ptr<Stream>& stream,
                                     const CapturedRecord& record, bool recorded);

/// Fails for an event that was last recorded inside a capture.
void forbid_captured_event(const CapturedRecord& record);

void begin_capture(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode);

/// Ends the stream's capture and returns its graph; fails as cuStreamEndCapture does.
[[nodiscard]] std::shared_ptr<Graph> end_capture(Stream& stream);

/// Ends a capture whose stream is being destroyed.
void abandon_capture(Stream& stream);

/// A snapshot for the query functions; status and id are zero for a stream that is not captured.
struct CaptureState {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  std::uint64_t id = 0;
  std::shared_ptr<Graph> graph;
  std::vector<std::size_t> tail;
};

[[nodiscard]] CaptureState capture_state(const Stream& stream);

/// Sets the calling thread's mode and returns the one before.
[[nodiscard]] CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode);

}  // namespace quantjit::simdriver

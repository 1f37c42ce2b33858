// SPDX-License-Identifier: Apache-2.0
// What calls must not do while something is captured, as measured on driver 580.
#include "capture_state.hpp"
#include "stream.hpp"

#include <algorithm>

namespace quantjit::simdriver {

namespace {

bool holds_blocking_stream(const Capture& capture, const Context& context) {
  return capture.context == &context &&
         std::any_of(capture.members.begin(), capture.members.end(), [](const auto& member) {
           const auto stream = member.lock();
           return stream != nullptr && stream->is_blocking();
         });
}

/// Invalidates every capture that satisfies `condition`; fails with `result` if there was one.
template <class Condition>
void forbid_with(CUresult result, Condition condition) {
  bool found = false;
  for (const auto& capture : capture_registry().captures) {
    if (condition(*capture)) {
      invalidate(*capture);
      found = true;
    }
  }
  require(!found, result);
}

// A thread in relaxed mode may do as it likes; in the other two its own captures forbid, and in
// global mode also those that other threads began as global.
void forbid_unsafe_locked() {
  const CUstreamCaptureMode mode = capture_thread_mode();
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
    return;
  }
  forbid_with(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&](const Capture& capture) {
    if (capture.owner == std::this_thread::get_id()) {
      return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    }
    return mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
  });
}

void forbid_on_captured_stream(const Stream& stream) {
  if (stream.capturing.capture != nullptr) {
    invalidate(*stream.capturing.capture);
    throw Failure(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  forbid_implicit_dependency(stream);
}

bool none_active() {
  return capture_registry().active == 0;
}

}  // namespace

void invalidate(Capture& capture) {
  capture.valid = false;
}

bool has_blocking_capture(const Context& context) {
  const auto& captures = capture_registry().captures;
  return std::any_of(captures.begin(), captures.end(),
                     [&](const auto& capture) { return holds_blocking_stream(*capture, context); });
}

void forbid_implicit_dependency(const Stream& stream) {
  if (stream.is_legacy()) {
    forbid_with(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, [&](const Capture& capture) {
      return holds_blocking_stream(capture, *stream.context);
    });
  }
}

void forbid_unsafe_call() {
  if (none_active()) {
    return;
  }
  const std::lock_guard lock(capture_registry().mutex);
  forbid_unsafe_locked();
}

void forbid_synchronizing(const Context& context) {
  if (none_active()) {
    return;
  }
  const std::lock_guard lock(capture_registry().mutex);
  forbid_with(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              [&](const Capture& capture) { return capture.context == &context; });
}

void forbid_synchronizing(const Stream& stream) {
  if (none_active()) {
    return;
  }
  const std::lock_guard lock(capture_registry().mutex);
  forbid_on_captured_stream(stream);
  forbid_unsafe_locked();
}

void forbid_recording(const Stream& stream) {
  if (none_active()) {
    return;
  }
  const std::lock_guard lock(capture_registry().mutex);
  forbid_on_captured_stream(stream);
}

void forbid_captured_event(const CapturedRecord& record) {
  if (record.capture == nullptr) {
    forbid_unsafe_call();
    return;
  }
  const std::lock_guard lock(capture_registry().mutex);
  require(!record.capture->ended);
  invalidate(*record.capture);
  throw Failure(CUDA_ERROR_CAPTURED_EVENT);
}

}  // namespace quantjit::simdriver

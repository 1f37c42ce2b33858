// SPDX-License-Identifier: Apache-2.0
// Captures: their life, what is recorded, and how streams join.
#include "capture.hpp"

#include "capture_state.hpp"
#include "graph.hpp"
#include "stream.hpp"

#include <algorithm>
#include <set>

namespace quantjit::simdriver {

namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

std::uint64_t next_capture_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1);
}

void add_to_tail(std::vector<std::size_t>& tail, const std::vector<std::size_t>& more) {
  for (const std::size_t node : more) {
    if (std::find(tail.begin(), tail.end(), node) == tail.end()) {
      tail.push_back(node);
    }
  }
}

/// Releases the streams of a capture; its graph is whatever was recorded.
void finish(Capture& capture) {
  capture.ended = true;
  for (const auto& member : capture.members) {
    if (const auto stream = member.lock()) {
      stream->capturing = {};
    }
  }
  auto& all = capture_registry().captures;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const auto& entry) { return entry.get() == &capture; }),
            all.end());
  capture_registry().active = all.size();
}

/// Whether everything recorded on joined streams leads into the origin's last nodes.
bool is_joined(const Capture& capture) {
  std::set<std::size_t> reached(capture.origin->capturing.tail.begin(),
                                capture.origin->capturing.tail.end());
  for (auto node = capture.graph->nodes.size(); node-- > 0;) {
    if (reached.count(node) != 0) {
      const auto& dependencies = capture.graph->nodes[node].dependencies;
      reached.insert(dependencies.begin(), dependencies.end());
    }
  }
  for (const auto& member : capture.members) {
    const auto stream = member.lock();
    if (stream == nullptr) {
      continue;
    }
    for (const std::size_t node : stream->capturing.tail) {
      if (reached.count(node) == 0) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

CaptureRegistry& capture_registry() {
  static auto* state = new CaptureRegistry;
  return *state;
}

CUstreamCaptureMode capture_thread_mode() {
  return thread_mode;
}

CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

bool record_if_capturing(Stream& stream, const Command& command) {
  if (capture_registry().active == 0) {
    return false;
  }
  const std::lock_guard lock(capture_registry().mutex);
  const auto& capture = stream.capturing.capture;
  if (capture == nullptr) {
    forbid_implicit_dependency(stream);
    return false;
  }
  require(capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  const std::lock_guard graph_lock(capture->graph->mutex);
  capture->graph->nodes.push_back({command, stream.capturing.tail});
  stream.capturing.tail = {capture->graph->nodes.size() - 1};
  return true;
}

CapturedRecord record_event(Stream& stream) {
  if (capture_registry().active == 0) {
    return {};
  }
  const std::lock_guard lock(capture_registry().mutex);
  const auto& capture = stream.capturing.capture;
  if (capture == nullptr) {
    forbid_implicit_dependency(stream);
    return {};
  }
  require(capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  return {capture, stream.capturing.tail};
}

bool wait_for_captured(const std::shared_ptr<Stream>& stream, const CapturedRecord& record,
                       bool recorded) {
  const std::lock_guard lock(capture_registry().mutex);
  auto& own = stream->capturing;
  if (record.capture == nullptr) {
    if (own.capture == nullptr) {
      forbid_implicit_dependency(*stream);
      return false;
    }
    require(own.capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (recorded) {
      invalidate(*own.capture);
      throw Failure(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    }
    return true;
  }
  require(!record.capture->ended);
  require(record.capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  if (stream->is_legacy()) {
    invalidate(*record.capture);
    throw Failure(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  }
  if (own.capture == nullptr) {
    own.capture = record.capture;
    record.capture->members.push_back(stream);
  } else if (own.capture != record.capture) {
    invalidate(*own.capture);
    invalidate(*record.capture);
    throw Failure(CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  add_to_tail(own.tail, record.tail);
  return true;
}

void begin_capture(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode) {
  require(!stream->is_legacy(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  const std::lock_guard lock(capture_registry().mutex);
  require(stream->capturing.capture == nullptr, CUDA_ERROR_ILLEGAL_STATE);
  auto capture = std::make_shared<Capture>();
  capture->id = next_capture_id();
  capture->mode = mode;
  capture->owner = std::this_thread::get_id();
  capture->origin = stream.get();
  capture->context = stream->context.get();
  capture->members.push_back(stream);
  capture->graph = std::make_shared<Graph>();
  stream->capturing = {capture, {}};
  capture_registry().captures.push_back(std::move(capture));
  capture_registry().active = capture_registry().captures.size();
}

std::shared_ptr<Graph> end_capture(Stream& stream) {
  const std::lock_guard lock(capture_registry().mutex);
  const std::shared_ptr<Capture> capture = stream.capturing.capture;
  require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
  if (capture->origin != &stream) {
    invalidate(*capture);
    throw Failure(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  }
  const bool own_thread = capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
                          capture->owner == std::this_thread::get_id();
  const bool joined = is_joined(*capture);
  finish(*capture);
  require(own_thread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  require(capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  require(joined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  return capture->graph;
}

void abandon_capture(Stream& stream) {
  if (capture_registry().active == 0) {
    return;
  }
  const std::lock_guard lock(capture_registry().mutex);
  const std::shared_ptr<Capture> capture = stream.capturing.capture;
  if (capture == nullptr) {
    return;
  }
  invalidate(*capture);
  stream.capturing = {};
  if (capture->origin == &stream) {
    finish(*capture);
  }
}

CaptureState capture_state(const Stream& stream) {
  const std::lock_guard lock(capture_registry().mutex);
  const auto& capture = stream.capturing.capture;
  if (capture == nullptr) {
    if (stream.is_legacy() && has_blocking_capture(*stream.context)) {
      throw Failure(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    return {};
  }
  return {capture->valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED,
          capture->id, capture->graph, stream.capturing.tail};
}

}  // namespace quantjit::simdriver

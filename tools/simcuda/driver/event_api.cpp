// SPDX-License-Identifier: Apache-2.0
// cuEvent* and cuStreamWaitEvent.
#include "event.hpp"
#include "registry.hpp"
#include "stream.hpp"

using namespace quantjit::simdriver;

namespace {

std::shared_ptr<Event> live_event(CUevent handle) {
  current_context();
  return lookup(registry().events, handle);
}

void record(CUevent handle, CUstream stream_handle, unsigned flags) {
  const auto stream = resolve_stream(stream_handle);
  const auto event = lookup(registry().events, handle);
  require(flags == CU_EVENT_RECORD_DEFAULT);
  require(event->context == stream->context, CUDA_ERROR_INVALID_HANDLE);
  CapturedRecord captured = record_event(*stream);
  if (captured.capture == nullptr) {
    order_with_default_stream(*stream);
    stream->drain();
  }
  const std::lock_guard lock(event->mutex);
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  event->captured = std::move(captured);
}

CapturedRecord captured_record(Event& event) {
  const std::lock_guard lock(event.mutex);
  return event.captured;
}

std::chrono::steady_clock::time_point timestamp(Event& event) {
  const std::lock_guard lock(event.mutex);
  require(event.recorded && event.captured.capture == nullptr &&
              (event.flags & CU_EVENT_DISABLE_TIMING) == 0,
          CUDA_ERROR_INVALID_HANDLE);
  return event.time;
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuEventCreate(CUevent* out, unsigned int flags) {
  return guard([&] {
    constexpr unsigned kKnown = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
    Context& context = current_context();
    require(out != nullptr && (flags & ~(kKnown | CU_EVENT_INTERPROCESS)) == 0);
    require((flags & CU_EVENT_INTERPROCESS) == 0, (flags & CU_EVENT_DISABLE_TIMING) != 0
                                                      ? CUDA_ERROR_NOT_SUPPORTED
                                                      : CUDA_ERROR_INVALID_VALUE);
    *out = registry().events.add(std::make_shared<Event>(context.shared_from_this(), flags));
  });
}

QUANTJIT_SIM_EXPORT CUresult cuEventDestroy_v2(CUevent handle) {
  return guard([&] {
    current_context();
    require(registry().events.take(handle) != nullptr, CUDA_ERROR_INVALID_HANDLE);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
  return guard([&] { record(event, stream, CU_EVENT_RECORD_DEFAULT); });
}

QUANTJIT_SIM_EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream stream,
                                                    unsigned int flags) {
  return guard([&] { record(event, stream, flags); });
}

QUANTJIT_SIM_EXPORT CUresult cuEventQuery(CUevent handle) {
  return guard([&] { forbid_captured_event(captured_record(*live_event(handle))); });
}

QUANTJIT_SIM_EXPORT CUresult cuEventSynchronize(CUevent handle) {
  return guard([&] { forbid_captured_event(captured_record(*live_event(handle))); });
}

QUANTJIT_SIM_EXPORT CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start,
                                                   CUevent end) {
  return guard([&] {
    const auto first = live_event(start);
    const auto last = live_event(end);
    require(milliseconds != nullptr);
    const std::chrono::duration<float, std::milli> elapsed = timestamp(*last) - timestamp(*first);
    *milliseconds = elapsed.count();
  });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent handle,
                                               unsigned int flags) {
  return guard([&] {
    const auto stream = resolve_stream(stream_handle);
    const auto event = lookup(registry().events, handle);
    require(flags == CU_EVENT_WAIT_DEFAULT);
    CapturedRecord captured;
    bool recorded = false;
    {
      const std::lock_guard lock(event->mutex);
      captured = event->captured;
      recorded = event->recorded;
    }
    if (!wait_for_captured(stream, captured, recorded)) {
      // The event is complete; the kernels queued on the stream must not mix with those behind it.
      stream->drain();
    }
  });
}

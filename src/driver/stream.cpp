// SPDX-License-Identifier: Apache-2.0
#include "src/driver/stream.hpp"

#include "src/driver/context_scope.hpp"

#include <utility>

namespace quantjit::driver {

CaptureState capture_state(const DriverApi& api, CUstream_st* stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult code = in_stream_context(
      api, stream, [&] { return api.table().cuStreamIsCapturing(stream, &status); });
  if (code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) {
    return CaptureState::kForbidden;
  }
  check(api, code, "cuStreamIsCapturing");
  switch (status) {
    case CU_STREAM_CAPTURE_STATUS_ACTIVE: return CaptureState::kActive;
    case CU_STREAM_CAPTURE_STATUS_INVALIDATED: return CaptureState::kInvalidated;
    default: return CaptureState::kNone;
  }
}

RelaxedCaptureGuard::RelaxedCaptureGuard(const DriverApi& api) : api_(api) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  check(api, api.table().cuThreadExchangeStreamCaptureMode(&mode),
        "cuThreadExchangeStreamCaptureMode");
  previous_mode_ = mode;
}

RelaxedCaptureGuard::~RelaxedCaptureGuard() {
  auto mode = static_cast<CUstreamCaptureMode>(previous_mode_);
  api_.table().cuThreadExchangeStreamCaptureMode(&mode);
}

void synchronize(const DriverApi& api, CUstream_st* stream) {
  check(api,
        in_stream_context(api, stream, [&] { return api.table().cuStreamSynchronize(stream); }),
        "cuStreamSynchronize");
}

StreamOwner::StreamOwner(const DriverApi& api, int ordinal) : api_(&api), ordinal_(ordinal) {
  const ContextGuard context(api, ordinal);
  check(api, api.table().cuStreamCreate(&handle_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

StreamOwner::StreamOwner(StreamOwner&& other) noexcept
    : api_(other.api_), ordinal_(other.ordinal_), handle_(other.release()) {}

StreamOwner& StreamOwner::operator=(StreamOwner&& other) noexcept {
  if (this != &other) {
    destroy();
    api_ = other.api_;
    ordinal_ = other.ordinal_;
    handle_ = other.release();
  }
  return *this;
}

StreamOwner::~StreamOwner() {
  destroy();
}

CUstream_st* StreamOwner::release() noexcept {
  return std::exchange(handle_, nullptr);
}

void StreamOwner::destroy() noexcept {
  if (handle_ != nullptr) {
    release_on_device(*api_, ordinal_, [this] { api_->table().cuStreamDestroy(handle_); });
  }
  handle_ = nullptr;
}

Event::Event(const DriverApi& api, int ordinal) : api_(&api), ordinal_(ordinal) {
  const ContextGuard context(api, ordinal);
  check(api, api.table().cuEventCreate(&handle_, CU_EVENT_DEFAULT), "cuEventCreate");
}

Event::Event(Event&& other) noexcept
    : api_(other.api_), ordinal_(other.ordinal_), handle_(std::exchange(other.handle_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  if (this != &other) {
    destroy();
    api_ = other.api_;
    ordinal_ = other.ordinal_;
    handle_ = std::exchange(other.handle_, nullptr);
  }
  return *this;
}

Event::~Event() {
  destroy();
}

void Event::record(CUstream_st* stream) const {
  check(*api_,
        in_stream_context(*api_, stream,
                          [&] { return api_->table().cuEventRecord(handle_, stream); }),
        "cuEventRecord");
}

void Event::synchronize() const {
  check(*api_, api_->table().cuEventSynchronize(handle_), "cuEventSynchronize");
}

float Event::milliseconds_since(const Event& start) const {
  float milliseconds = 0;
  check(*api_, api_->table().cuEventElapsedTime(&milliseconds, start.handle_, handle_),
        "cuEventElapsedTime");
  return milliseconds;
}

void Event::destroy() noexcept {
  if (handle_ != nullptr) {
    release_on_device(*api_, ordinal_, [this] { api_->table().cuEventDestroy(handle_); });
  }
  handle_ = nullptr;
}

}  // namespace quantjit::driver

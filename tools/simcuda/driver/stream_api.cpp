// SPDX-License-Identifier: Apache-2.0
// cuStream* but for capture, and cuLaunchHostFunc.
#include "registry.hpp"
#include "stream.hpp"

#include <algorithm>

using namespace quantjit::simdriver;

namespace {

constexpr int kLowestPriority = 0;
constexpr int kHighestPriority = -5;

void create_stream(CUstream* out, unsigned flags, int priority) {
  Context& context = current_context();
  require(out != nullptr && (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) == 0);
  *out = registry().streams.add(
      std::make_shared<Stream>(context.shared_from_this(), StreamKind::kCreated, flags,
                               std::clamp(priority, kHighestPriority, kLowestPriority)));
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return guard([&] { create_stream(stream, flags, kLowestPriority); });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags,
                                                        int priority) {
  return guard([&] { create_stream(stream, flags, priority); });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamDestroy_v2(CUstream handle) {
  return guard([&] {
    current_context();
    const auto stream = registry().streams.take(handle);
    require(stream != nullptr, CUDA_ERROR_INVALID_HANDLE);
    abandon_capture(*stream);
    stream->drain();
  });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamSynchronize(CUstream handle) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    forbid_synchronizing(*stream);
    order_with_default_stream(*stream);
    stream->drain();
  });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamQuery(CUstream handle) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    forbid_synchronizing(*stream);
    require(stream->try_drain(), CUDA_ERROR_NOT_READY);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    require(context != nullptr);
    *context = stream->context->handle;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    require(device != nullptr);
    *device = stream->context->device.ordinal;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamGetFlags(CUstream handle, unsigned int* flags) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    require(flags != nullptr);
    *flags = stream->flags;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    require(priority != nullptr);
    *priority = stream->priority;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    require(id != nullptr);
    *id = stream->id;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    require(function != nullptr);
    submit(stream, HostCall{function, data});
  });
}

// SPDX-License-Identifier: Apache-2.0
// Making calls where they need a current context. Private to this module.
#pragma once

#include "src/driver/device.hpp"
#include "src/driver/driver_table.hpp"

#include <quantjit/error.hpp>

#include <utility>

namespace quantjit::driver {

/// Makes a call in the context of its stream, on a thread that has none.
template <typename Call>
[[gnu::noinline, gnu::cold]] CUresult call_in_stream_context(const DriverApi& api,
                                                             CUstream_st* stream, Call& call) {
  CUcontext context = nullptr;
  try {
    context = context_of_stream(api, stream);
  } catch (const DriverError&) {
    return call();  // what the call itself answers says more
  }
  CUresult code = api.table().cuCtxPushCurrent(context);
  if (code == CUDA_SUCCESS) {
    code = call();
    CUcontext popped = nullptr;
    api.table().cuCtxPopCurrent(&popped);
  }
  return code;
}

/// Makes a call that concerns a stream and returns its result. Some driver calls want a current
/// context although the stream has one: a thread without any is given the stream's for the call.
/// Looked at before the call, so that none is made that must fail.
template <typename Call>
CUresult in_stream_context(const DriverApi& api, CUstream_st* stream, Call&& call) {
  if (!is_default_stream(stream)) {
    CUcontext current = nullptr;
    if (api.table().cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == nullptr) [[unlikely]] {
      return call_in_stream_context(api, stream, call);
    }
  }
  return call();
}

/// Makes a call that gives something back to the driver, in a context of its device. For
/// destructors: there is nobody to tell, and without a context the thing is gone already. Does
/// nothing while the process exits and in a forked child.
template <typename Call>
void release_on_device(const DriverApi& api, int ordinal, Call&& call) noexcept {
  if (!DriverApi::process_is_live() || api.forked()) {
    return;
  }
  try {
    const ContextGuard context(api, ordinal);
    call();
  } catch (const Error&) {
  }
}

}  // namespace quantjit::driver

// SPDX-License-Identifier: Apache-2.0
// What the parts of a fake driver library share. Private to them.
#pragma once

#include "tests/support/fake_driver.hpp"

struct CUctx_st {
  int device;
};

struct CUstream_st {
  CUctx_st* context;
};

namespace quantjit::test {

FakeRecord& record();

/// Counts the call; the result that a test forces on it, or success.
CUresult enter(const char* name);

/// The calling thread's current context, or null.
CUctx_st* current_context();

template <typename Change>
CUresult change(Change&& apply) {
  FakeRecord& r = record();
  const std::lock_guard lock(r.mutex);
  apply(r);
  return CUDA_SUCCESS;
}

/// An address that serves as a handle.
template <typename Handle>
Handle any_handle() {
  static int object = 0;
  return reinterpret_cast<Handle>(&object);
}

}  // namespace quantjit::test

#define FAKE(name) extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI name
#define ENTER(name)                                                   \
  if (const CUresult forced = enter(#name); forced != CUDA_SUCCESS) { \
    return forced;                                                    \
  }

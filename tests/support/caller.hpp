// SPDX-License-Identifier: Apache-2.0
// A caller whose current context must not change.
#pragma once

#include "src/driver/device.hpp"
#include "src/driver/driver_table.hpp"

namespace quantjit::test {

/// What an application made current on this thread, for a scope: nothing, or a device's primary
/// context.
class Caller {
 public:
  /// @param device -1 for no context
  Caller(const driver::DriverApi& api, int device) : api_(api) {
    if (device >= 0) {
      driver::check(api, api.table().cuDevicePrimaryCtxRetain(&context_, device), "retain");
      driver::check(api, api.table().cuCtxPushCurrent(context_), "push");
    }
  }

  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  ~Caller() {
    if (context_ != nullptr) {
      CUcontext popped = nullptr;
      api_.table().cuCtxPopCurrent(&popped);
    }
  }

  /// True if the current context is the one that the application left there.
  [[nodiscard]] bool unchanged() const { return driver::current_context(api_) == context_; }

 private:
  const driver::DriverApi& api_;
  CUcontext context_ = nullptr;
};

}  // namespace quantjit::test

// SPDX-License-Identifier: Apache-2.0
// Machines of several simulated devices, and a caller whose context must not change.
#pragma once

#include "src/driver/device.hpp"
#include "src/driver/driver_api.hpp"

#include <quantjit/service.hpp>

#include <optional>
#include <string>
#include <vector>

namespace quantjit::test {

/// Descriptors whose bits are known on every simulated device; the last one launches without PDL.
[[nodiscard]] const std::vector<std::string>& device_descriptors();

/// One simulated machine: a copy of the driver library of its own, since a driver reads which
/// devices there are once. Kept until the process ends.
class SimMachine {
 public:
  /// @param devices archs, separated by commas
  /// @param visible CUDA_VISIBLE_DEVICES, or nothing
  static const SimMachine& with(const std::string& devices,
                                const std::optional<std::string>& visible = std::nullopt);

  [[nodiscard]] const driver::DriverApi& api() const { return *api_; }

  /// A service on this machine that keeps nothing on disk.
  [[nodiscard]] KernelService service() const;

  /// Options of such a service.
  [[nodiscard]] ServiceOptions options() const;

  /// Forgets all faults.
  void reset() const;

 private:
  const driver::DriverApi* api_ = nullptr;
  std::string path_;
};

/// What an application made current on this thread: nothing, or a device's primary context. Checks
/// at each look that it still is.
class Caller {
 public:
  /// @param device -1 for no context
  Caller(const driver::DriverApi& api, int device);
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller();

  /// True if the current context is the one that the application left there.
  [[nodiscard]] bool unchanged() const;

 private:
  const driver::DriverApi& api_;
  CUctx_st* context_ = nullptr;
};

}  // namespace quantjit::test

// SPDX-License-Identifier: Apache-2.0
// Machines of several simulated devices.
#pragma once

#include "src/driver/driver_api.hpp"
#include "tests/support/caller.hpp"

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

}  // namespace quantjit::test

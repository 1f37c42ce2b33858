// SPDX-License-Identifier: Apache-2.0
// Looks at launches where the library hands them to the driver.
#pragma once

#include "src/driver/driver_table.hpp"

#include <functional>
#include <vector>

namespace quantjit::test {

/// What cuLaunchKernelEx was given, and what was current then.
struct SeenLaunch {
  CUlaunchConfig config{};
  std::vector<CUlaunchAttribute> attributes;
  CUkernel kernel = nullptr;
  const void* input = nullptr;  ///< first member of the parameter struct
  int current_device = -1;      ///< -1 without a context
  int stream_device = -1;       ///< of a default stream: the current device
};

/// The table of a driver, to look at its calls. It is the driver object's own; its accessor is
/// const for the library's users only.
[[nodiscard]] driver::DriverTable& table_of(const driver::DriverApi& api);

/// While it lives, `look` sees each launch of a driver on its launching thread, which then goes on
/// to the driver. One at a time in a process; no launch may be under way at either end.
class LaunchRecorder {
 public:
  LaunchRecorder(const driver::DriverApi& api, std::function<void(const SeenLaunch&)> look);
  LaunchRecorder(const LaunchRecorder&) = delete;
  LaunchRecorder& operator=(const LaunchRecorder&) = delete;
  ~LaunchRecorder();

 private:
  static CUresult record(const CUlaunchConfig* config, CUfunction function, void** parameters,
                         void** extra);

  const driver::DriverApi& api_;
  std::function<void(const SeenLaunch&)> look_;
  decltype(&::cuLaunchKernelEx) launch_;
};

}  // namespace quantjit::test

// SPDX-License-Identifier: Apache-2.0
// Launching a kernel: one driver call, no lock, no allocation.
#pragma once

#include "src/driver/driver_api.hpp"
#include "src/driver/library.hpp"

#include <cstdint>

namespace quantjit::driver {

/// Whether a kernel may start before the one in front of it on the stream has ended (programmatic
/// dependent launch). Such a kernel must wait for the earlier one itself, with griddepcontrol.wait.
enum class ProgrammaticLaunch : std::uint8_t { kOff, kOn };

/// Extent in blocks or threads.
struct Extent {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
};

struct LaunchConfig {
  Extent grid;   ///< blocks
  Extent block;  ///< threads
  std::uint32_t dynamic_shared_bytes = 0;
  CUstream_st* stream = nullptr;
  ProgrammaticLaunch programmatic = ProgrammaticLaunch::kOff;
};

/// Launches a kernel. `arguments` points to one pointer per kernel parameter; the driver copies the
/// values before the call returns. Returns before the kernel ends; device buffers must live until
/// the stream has passed this point. The context is the stream's; a null stream takes the calling
/// thread's current one. Throws: DriverError with the launch geometry. Thread safety: any thread.
void launch(const DriverApi& api, KernelHandle kernel, const LaunchConfig& config,
            void** arguments);

/// As launch(), for a kernel with one parameter, a struct passed by value.
template <typename Parameters>
void launch_with(const DriverApi& api, KernelHandle kernel, const LaunchConfig& config,
                 const Parameters& parameters) {
  // The driver only reads through the pointers although it takes them as mutable.
  void* arguments[] = {const_cast<Parameters*>(&parameters)};
  launch(api, kernel, config, arguments);
}

}  // namespace quantjit::driver

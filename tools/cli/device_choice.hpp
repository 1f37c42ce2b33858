// SPDX-License-Identifier: Apache-2.0
// Where a command launches: a GPU, or the simulated device.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/service.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::driver {
class DriverApi;
}

namespace quantjit::cli {

enum class DeviceKind : std::uint8_t { kGpu, kSimulated, kCpu };

struct DeviceChoice {
  DeviceKind kind = DeviceKind::kGpu;
  int ordinal = 0;              ///< of a GPU or a simulated device
  std::vector<Arch> simulated;  ///< what simulated devices there shall be; none: the default
};

/// What a device may be called, for help and messages.
inline constexpr const char* kDeviceForms = "gpu, gpu:N, sim or sim:ARCH[,ARCH...][:N]";

/// Reads one of kDeviceForms, or cpu (the reference). Throws: InvalidArgument.
[[nodiscard]] DeviceChoice parse_device_choice(std::string_view text);

/// A device that is ready for launches. The driver library lives as long as the process.
struct OpenDevice {
  const driver::DriverApi* api = nullptr;
  int ordinal = 0;
  Arch arch;
  int sm_count = 0;
  std::string label;  ///< "gpu:0" or "sim:sm_90a"
  std::string name;   ///< e.g. "NVIDIA H200"
  bool simulated = false;
};

/// Opens a GPU or the simulated device. `options.cuda_driver` becomes the simulated device's
/// library where one is asked for and none is set. Throws: DriverError in one line if there is no
/// such device, InvalidArgument for an ordinal that does not exist, CommandFailure if there is no
/// simulated device. REQUIRES: not kCpu; no driver was loaded for another choice before.
[[nodiscard]] OpenDevice open_device(const DeviceChoice& choice, ServiceOptions& options);

/// The GPU if there is one, else the simulated device, else nothing. `why_not_gpu` receives why
/// there is no GPU.
[[nodiscard]] std::optional<OpenDevice> open_any_device(ServiceOptions& options,
                                                        std::string& why_not_gpu);

/// Lane instructions that the simulated device has executed so far, and the seconds they took;
/// nothing on a GPU.
struct SimulatedWork {
  std::uint64_t lane_instructions = 0;
  double seconds = 0;
};

[[nodiscard]] std::optional<SimulatedWork> simulated_work(const OpenDevice& device);

/// Path of the simulated device's library beside the executable or in its library folder.
[[nodiscard]] std::optional<std::string> find_simulator();

}  // namespace quantjit::cli

// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/device_choice.hpp"

#include "src/base/dynamic_library.hpp"
#include "src/driver/device.hpp"
#include "src/driver/driver_api.hpp"
#include "tools/cli/context.hpp"
#include "tools/simcuda/simcuda.h"

#include <quantjit/error.hpp>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace quantjit::cli {
namespace {

constexpr const char* kSimulatorFile = "libquantjit_simcuda.so";
constexpr const char* kSimulatedDevices = "QUANTJIT_SIM_DEVICES";

OpenDevice describe(const driver::DriverApi& api, int ordinal) {
  const driver::DeviceInfo& info = driver::device_info(api, ordinal);
  const bool simulated = api.wants_ptx();
  return {.api = &api,
          .ordinal = ordinal,
          .arch = info.arch,
          .sm_count = info.sm_count,
          .label = simulated ? "sim:" + info.arch.to_string() : "gpu:" + std::to_string(ordinal),
          .name = info.name,
          .simulated = simulated};
}

OpenDevice open_simulated(const std::optional<Arch>& arch, ServiceOptions& options) {
  if (!options.cuda_driver) {
    options.cuda_driver = find_simulator();
    if (!options.cuda_driver) {
      throw CommandFailure(std::string("there is no simulated device: ") + kSimulatorFile +
                           " was not found beside the executable or in its library folder; build "
                           "it, or name it with --cuda-driver");
    }
  }
  if (arch) {
    // Read by the simulated driver when it initializes, before this program starts a thread.
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    ::setenv(kSimulatedDevices, arch->to_string().c_str(), 1);
  }
  const driver::DriverApi& api = driver::DriverApi::load(*options.cuda_driver);
  if (!api.wants_ptx()) {
    throw InvalidArgument("--device", "sim",
                          "the driver library " + api.path() +
                              " is no simulated device; leave --cuda-driver and "
                              "QUANTJIT_CUDA_DRIVER unset, or use --device gpu");
  }
  try {
    api.initialize();
  } catch (const DriverError& error) {
    if (!arch) {
      throw;
    }
    throw CommandFailure("there is no simulated device of " + arch->to_string() + ": " +
                         error.what());
  }
  return describe(api, 0);
}

}  // namespace

DeviceChoice parse_device_choice(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const bool has_detail = colon != std::string_view::npos;
  const std::string_view detail = has_detail ? text.substr(colon + 1) : std::string_view();
  if (kind == "cpu" && !has_detail) {
    return {DeviceKind::kCpu, 0, {}};
  }
  if (kind == "sim") {
    return {DeviceKind::kSimulated, 0,
            has_detail ? std::optional(Arch::parse(detail)) : std::nullopt};
  }
  int ordinal = 0;
  const char* const end = detail.data() + detail.size();
  const bool numbered = !has_detail || (!detail.empty() && detail.front() != '-' &&
                                        std::from_chars(detail.data(), end, ordinal).ptr == end);
  if (kind != "gpu" || !numbered) {
    throw InvalidArgument("--device", "\"" + std::string(text) + "\"",
                          "it must be gpu, gpu:N, sim or sim:ARCH");
  }
  return {DeviceKind::kGpu, ordinal, {}};
}

OpenDevice open_device(const DeviceChoice& choice, ServiceOptions& options) {
  if (choice.kind == DeviceKind::kSimulated) {
    return open_simulated(choice.simulated, options);
  }
  const driver::DriverApi& api = driver::DriverApi::get(options.cuda_driver.value_or(""));
  return describe(api, choice.ordinal);
}

std::optional<OpenDevice> open_any_device(ServiceOptions& options, std::string& why_not_gpu) {
  try {
    return open_device({}, options);
  } catch (const DriverError& error) {
    why_not_gpu = error.what();
  }
  if (options.cuda_driver || !find_simulator()) {
    return std::nullopt;
  }
  return open_simulated({}, options);
}

std::optional<std::string> find_simulator() {
  const std::filesystem::path directory = base::executable_directory();
  for (const std::filesystem::path& folder :
       {directory, directory / ".." / "lib", directory / QUANTJIT_INSTALL_LIBDIR}) {
    std::error_code error;
    const std::filesystem::path path = folder / kSimulatorFile;
    if (std::filesystem::is_regular_file(path, error)) {
      return std::filesystem::weakly_canonical(path, error).string();
    }
  }
  return std::nullopt;
}

std::optional<SimulatedWork> simulated_work(const OpenDevice& device) {
  if (!device.simulated) {
    return std::nullopt;
  }
  const auto library = base::DynamicLibrary::open(device.api->path());
  const auto read =
      reinterpret_cast<decltype(&qj_sim_get_statistics)>(library.symbol("qj_sim_get_statistics"));
  qj_sim_statistics statistics{};
  statistics.struct_size = sizeof(statistics);
  if (read == nullptr || read(&statistics) != 0) {
    return std::nullopt;  // another driver library that asks for PTX
  }
  return SimulatedWork{statistics.lane_instructions, statistics.seconds};
}

}  // namespace quantjit::cli

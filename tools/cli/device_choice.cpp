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

[[noreturn]] void refuse_choice(std::string_view text) {
  throw InvalidArgument("--device", "\"" + std::string(text) + "\"",
                        std::string("it must be ") + kDeviceForms);
}

/// The N of "gpu:N", or of what a simulated device is called.
int parse_ordinal(std::string_view digits, std::string_view text) {
  int ordinal = 0;
  const char* const end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, ordinal);
  if (digits.empty() || digits.front() == '-' || error != std::errc{} || last != end) {
    refuse_choice(text);
  }
  return ordinal;
}

/// "ARCH[,ARCH...][:N]"
DeviceChoice parse_simulated(std::string_view detail, std::string_view text) {
  DeviceChoice choice{DeviceKind::kSimulated, 0, {}};
  if (const std::size_t colon = detail.find(':'); colon != std::string_view::npos) {
    choice.ordinal = parse_ordinal(detail.substr(colon + 1), text);
    detail = detail.substr(0, colon);
  }
  while (true) {
    const std::size_t comma = detail.find(',');
    choice.simulated.push_back(Arch::parse(detail.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return choice;
    }
    detail.remove_prefix(comma + 1);
  }
}

/// "sm_90a,sm_100a"
std::string list_of(const std::vector<Arch>& archs) {
  std::string text;
  for (const Arch& arch : archs) {
    text += (text.empty() ? "" : ",") + arch.to_string();
  }
  return text;
}

OpenDevice open_simulated(const DeviceChoice& choice, ServiceOptions& options) {
  if (!options.cuda_driver) {
    options.cuda_driver = find_simulator();
    if (!options.cuda_driver) {
      throw CommandFailure(std::string("there is no simulated device: ") + kSimulatorFile +
                           " was not found beside the executable or in its library folder; build "
                           "it, or name it with --cuda-driver");
    }
  }
  if (!choice.simulated.empty()) {
    // Read by the simulated driver when it initializes, before this program starts a thread.
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    ::setenv(kSimulatedDevices, list_of(choice.simulated).c_str(), 1);
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
    if (choice.simulated.empty()) {
      throw;
    }
    throw CommandFailure("there is no simulated device of " + list_of(choice.simulated) + ": " +
                         error.what());
  }
  return describe(api, choice.ordinal);
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
    return has_detail ? parse_simulated(detail, text) : DeviceChoice{DeviceKind::kSimulated, 0, {}};
  }
  if (kind != "gpu") {
    refuse_choice(text);
  }
  return {DeviceKind::kGpu, has_detail ? parse_ordinal(detail, text) : 0, {}};
}

OpenDevice open_device(const DeviceChoice& choice, ServiceOptions& options) {
  if (choice.kind == DeviceKind::kSimulated) {
    return open_simulated(choice, options);
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

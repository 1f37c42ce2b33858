// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/devices_support.hpp"

#include "src/base/dynamic_library.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tools/simcuda/simcuda.h"

#include <cstdlib>
#include <filesystem>
#include <map>

namespace quantjit::test {
namespace {

void set_environment(const char* name, const std::optional<std::string>& value) {
  if (value) {
    setenv(name, value->c_str(), 1);
  } else {
    unsetenv(name);
  }
}

}  // namespace

const std::vector<std::string>& device_descriptors() {
  static const std::vector<std::string> descriptors = {
      "per_token_group_quant", "per_token_group_quant:scale=ue8m0,layout=col", "per_token_quant",
      "per_token_group_quant:group=64,pdl=false"};
  return descriptors;
}

const SimMachine& SimMachine::with(const std::string& devices,
                                   const std::optional<std::string>& visible) {
  static const TemporaryDirectory directory;
  static std::map<std::pair<std::string, std::optional<std::string>>, SimMachine> machines;
  const auto [entry, is_new] = machines.try_emplace({devices, visible});
  SimMachine& machine = entry->second;
  if (is_new) {
    machine.path_ =
        (directory.path() / ("machine_" + std::to_string(machines.size()) + ".so")).string();
    std::filesystem::copy_file(QUANTJIT_SIMCUDA_LIBRARY, machine.path_);
    set_environment("QUANTJIT_SIM_DEVICES", devices);
    set_environment("CUDA_VISIBLE_DEVICES", visible);
    machine.api_ = &driver::DriverApi::get(machine.path_);
    set_environment("QUANTJIT_SIM_DEVICES", std::nullopt);
    set_environment("CUDA_VISIBLE_DEVICES", std::nullopt);
  }
  return machine;
}

ServiceOptions SimMachine::options() const {
  ServiceOptions options;
  options.cache_roots = std::vector<std::string>{};
  options.cuda_driver = path_;
  return options;
}

KernelService SimMachine::service() const {
  return KernelService(options());
}

void SimMachine::reset() const {
  const auto library = base::DynamicLibrary::open(path_);
  reinterpret_cast<decltype(&qj_sim_reset)>(library.symbol("qj_sim_reset"))();
}

}  // namespace quantjit::test

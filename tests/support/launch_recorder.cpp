// SPDX-License-Identifier: Apache-2.0
#include "tests/support/launch_recorder.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>

namespace quantjit::test {
namespace {

LaunchRecorder* active = nullptr;

}  // namespace

driver::DriverTable& table_of(const driver::DriverApi& api) {
  return const_cast<driver::DriverTable&>(api.table());
}

LaunchRecorder::LaunchRecorder(const driver::DriverApi& api,
                               std::function<void(const SeenLaunch&)> look)
    : api_(api), look_(std::move(look)), launch_(api.table().cuLaunchKernelEx) {
  if (std::exchange(active, this) != nullptr) {
    throw std::logic_error("launches are recorded already");
  }
  table_of(api).cuLaunchKernelEx = &LaunchRecorder::record;
}

LaunchRecorder::~LaunchRecorder() {
  table_of(api_).cuLaunchKernelEx = launch_;
  active = nullptr;
}

CUresult LaunchRecorder::record(const CUlaunchConfig* config, CUfunction function,
                                void** parameters, void** extra) {
  LaunchRecorder& self = *active;
  SeenLaunch seen;
  seen.config = *config;
  seen.attributes.assign(config->attrs, config->attrs + config->numAttrs);
  seen.kernel = reinterpret_cast<CUkernel>(function);
  std::memcpy(&seen.input, parameters[0], sizeof(seen.input));
  seen.current_device = driver::current_device(self.api_).value_or(-1);
  seen.stream_device = driver::is_default_stream(config->hStream)
                           ? seen.current_device
                           : driver::device_of_stream(self.api_, config->hStream);
  self.look_(seen);
  return self.launch_(config, function, parameters, extra);
}

}  // namespace quantjit::test

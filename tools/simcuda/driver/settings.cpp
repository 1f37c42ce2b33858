// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <cstdlib>

namespace quantjit::simdriver {

Environment read_environment() {
  Environment environment;
  const char* devices = std::getenv("QUANTJIT_SIM_DEVICES");
  environment.devices = devices == nullptr || *devices == 0 ? "sm_90a" : devices;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
    environment.visible = visible;
  }
  return environment;
}

}  // namespace quantjit::simdriver

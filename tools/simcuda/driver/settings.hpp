// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace quantjit::simdriver {

/// The environment that the simulated driver reads, each variable once, when the driver
/// initializes.
struct Environment {
  std::string devices;                 ///< QUANTJIT_SIM_DEVICES, a comma list of archs
  std::optional<std::string> visible;  ///< CUDA_VISIBLE_DEVICES, unset or a comma list
};

[[nodiscard]] Environment read_environment();

}  // namespace quantjit::simdriver

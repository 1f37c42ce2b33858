// SPDX-License-Identifier: Apache-2.0
// The driver module on a GPU.
#include "src/base/settings.hpp"
#include "tests/support/driver_cases.hpp"

std::string quantjit::test::driver_path_of_tests() {
  return quantjit::base::environment("QUANTJIT_CUDA_DRIVER").value_or("");
}

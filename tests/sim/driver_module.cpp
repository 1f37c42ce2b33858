// SPDX-License-Identifier: Apache-2.0
// The driver module on the simulated device of the build tree.
#include "tests/support/driver_cases.hpp"

std::string quantjit::test::driver_path_of_tests() {
  return QUANTJIT_SIMCUDA_LIBRARY;
}

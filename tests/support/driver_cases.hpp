// SPDX-License-Identifier: Apache-2.0
// The driver module against a driver that runs kernels. The same cases run on the simulated device
// and on a GPU; each test program says which by defining driver_path_of_tests().
#pragma once

#include <string>

namespace quantjit::test {

/// The driver library; empty for the system's. Defined by the test program.
std::string driver_path_of_tests();

}  // namespace quantjit::test

// SPDX-License-Identifier: Apache-2.0
// The driver module on the simulated device of the build tree.
#include "src/base/dynamic_library.hpp"
#include "tests/support/driver_cases.hpp"

#include <filesystem>
#include <stdexcept>

std::string quantjit::test::driver_path_of_tests() {
  auto folder = quantjit::base::executable_directory();
  for (; folder != folder.parent_path(); folder = folder.parent_path()) {
    const auto candidate = folder / "lib" / "libquantjit_simcuda.so";
    if (std::filesystem::exists(candidate)) {
      return candidate.string();
    }
  }
  throw std::runtime_error("libquantjit_simcuda.so is not in the build tree");
}

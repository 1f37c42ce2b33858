# SPDX-License-Identifier: Apache-2.0
# The driver module of the library in front of the simulated device.
quantjit_test(sim_driver_module_tests LABEL sim SOURCES
  driver_module.cpp "${PROJECT_SOURCE_DIR}/tests/support/driver_cases.cpp")
add_dependencies(sim_driver_module_tests quantjit_simcuda)

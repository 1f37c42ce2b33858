# SPDX-License-Identifier: Apache-2.0
# The driver module of the library in front of the simulated device.

if(TARGET quantjit_simcuda)
  quantjit_test(sim_driver_module_tests LABEL sim LABELS nvrtc SOURCES
    driver_module.cpp "${PROJECT_SOURCE_DIR}/tests/support/driver_cases.cpp")
  add_dependencies(sim_driver_module_tests quantjit_simcuda)
  target_compile_definitions(sim_driver_module_tests PRIVATE
    QUANTJIT_SIMCUDA_LIBRARY="$<TARGET_FILE:quantjit_simcuda>")
endif()

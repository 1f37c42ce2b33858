# SPDX-License-Identifier: Apache-2.0
# Requests inside captures, on the simulated device.

if(TARGET quantjit_simcuda)
  quantjit_test(sim_capture_tests LABEL sim LABELS nvrtc SOURCES
    capture.cpp devices_support.cpp
    "${PROJECT_SOURCE_DIR}/tests/support/capture_matrix.cpp" "${PROJECT_SOURCE_DIR}/tests/support/capture_scenarios.cpp"
    "${PROJECT_SOURCE_DIR}/tests/support/capture_support.cpp" "${PROJECT_SOURCE_DIR}/tests/support/device_call.cpp")
  add_dependencies(sim_capture_tests quantjit_simcuda)
  target_compile_definitions(sim_capture_tests PRIVATE
    QUANTJIT_SIMCUDA_LIBRARY="$<TARGET_FILE:quantjit_simcuda>")
endif()

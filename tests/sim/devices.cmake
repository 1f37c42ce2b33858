# SPDX-License-Identifier: Apache-2.0
# One service on machines of several simulated devices.

if(TARGET quantjit_simcuda)
  quantjit_test(sim_devices_tests LABEL sim LABELS nvrtc SOURCES
    devices_archs.cpp devices_contexts.cpp devices_faults.cpp devices_geometry.cpp devices_prewarm.cpp devices_support.cpp devices_threads.cpp
    "${PROJECT_SOURCE_DIR}/tests/support/device_call.cpp" "${PROJECT_SOURCE_DIR}/tests/support/launch_recorder.cpp")
  add_dependencies(sim_devices_tests quantjit_simcuda)
  target_compile_definitions(sim_devices_tests PRIVATE
    QUANTJIT_SIMCUDA_LIBRARY="$<TARGET_FILE:quantjit_simcuda>")
endif()

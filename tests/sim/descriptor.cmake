# SPDX-License-Identifier: Apache-2.0
# Descriptors compiled by NVRTC and run on the simulated device, against the CPU reference.

if(TARGET quantjit_simcuda)
  quantjit_test(sim_descriptor_tests LABEL sim LABELS nvrtc SOURCES
    descriptor_bits.cpp descriptor_run.cpp descriptor_support.cpp own_kernels.cpp)
  add_dependencies(sim_descriptor_tests quantjit_simcuda)
  target_compile_definitions(sim_descriptor_tests PRIVATE
    QUANTJIT_SIMCUDA_LIBRARY="$<TARGET_FILE:quantjit_simcuda>")
endif()

# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources
  io_golden_case.cpp io_npy.cpp io_safetensors.cpp
  reference_bit_exact.cpp reference_exact.cpp reference_fixture.cpp reference_golden.cpp reference_group.cpp
  reference_input.cpp reference_layout.cpp reference_soft_float.cpp reference_tables.cpp reference_token.cpp
  traits_arch.cpp traits_custom.cpp traits_rules.cpp traits_text.cpp)
set_source_files_properties(reference_golden.cpp reference_tables.cpp PROPERTIES
  COMPILE_DEFINITIONS "QUANTJIT_GOLDEN_DIRECTORY=\"${PROJECT_SOURCE_DIR}/tests/golden\"")

# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources
  models_examples.cpp models_fixture.cpp models_hostile.cpp models_ignore.cpp models_rules.cpp models_table.cpp)
set_source_files_properties(models_fixture.cpp PROPERTIES
  COMPILE_DEFINITIONS "QUANTJIT_MODEL_DIRECTORY=\"${PROJECT_SOURCE_DIR}/tests/data/models\"")

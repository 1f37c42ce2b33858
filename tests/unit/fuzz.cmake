# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources
  fuzz_corpus.cpp ../fuzz/fuzz_bundle.cpp ../fuzz/fuzz_entry.cpp ../fuzz/fuzz_manifest.cpp ../fuzz/fuzz_npy.cpp
  ../fuzz/fuzz_remote_url.cpp ../fuzz/fuzz_safetensors.cpp ../fuzz/fuzz_traits.cpp)
set_source_files_properties(fuzz_corpus.cpp PROPERTIES
  COMPILE_DEFINITIONS "QUANTJIT_FUZZ_CORPUS=\"${PROJECT_SOURCE_DIR}/tests/fuzz/corpus\"")

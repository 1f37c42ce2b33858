# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources
  cache_counters.cpp cache_crash.cpp cache_damage.cpp cache_entry.cpp cache_eviction.cpp cache_faults.cpp
  cache_layers.cpp cache_lease.cpp cache_network.cpp cache_options.cpp cache_stampede.cpp cache_store.cpp
  cache_trust.cpp
  ../support/cache_fixture.cpp ../support/child_process.cpp ../support/fault_file_system.cpp)
set(quantjit_cache_test_data "QUANTJIT_CACHE_TEST_DATA=\"${CMAKE_CURRENT_SOURCE_DIR}/data\"")
set_source_files_properties(../support/cache_fixture.cpp PROPERTIES
  SKIP_PRECOMPILE_HEADERS ON COMPILE_DEFINITIONS "${quantjit_cache_test_data}")

# The other processes of the store's tests; it stands beside the test program.
add_executable(cache_worker
  ../support/cache_worker.cpp ../support/cache_fixture.cpp ../support/fault_file_system.cpp)
target_link_libraries(cache_worker PRIVATE quantjit_warnings quantjit_test_base)

# What the store costs; run by hand (cache/README.md).
add_executable(cache_overhead
  ../bench/cache_overhead.cpp ../support/cache_fixture.cpp ../support/child_process.cpp)
target_link_libraries(cache_overhead PRIVATE quantjit_warnings quantjit_test_base)
add_dependencies(cache_overhead cache_worker)

# Preloaded into it, so that system calls answer as network file systems do.
add_library(quantjit_nfs_shim MODULE ../support/nfs_shim.cpp)
target_link_libraries(quantjit_nfs_shim PRIVATE quantjit_warnings ${CMAKE_DL_LIBS})
target_compile_features(quantjit_nfs_shim PRIVATE cxx_std_20)
set_target_properties(quantjit_nfs_shim PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")

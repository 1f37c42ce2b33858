# SPDX-License-Identifier: Apache-2.0
# Tests that know the simulated driver only as a library to dlopen, and two small programs that they run.

if(TARGET quantjit_simcuda)
  add_executable(driver_trace driver_trace.cpp driver_trace_capture.cpp driver_trace_code.cpp
                 driver_trace_host.cpp driver_trace_stream.cpp)
  add_executable(driver_devices driver_devices.cpp)
  foreach(program driver_trace driver_devices)
    target_link_libraries(${program} PRIVATE quantjit_warnings quantjit_flags quantjit_cuda_headers
                          Threads::Threads ${CMAKE_DL_LIBS})
  endforeach()

  quantjit_test(sim_driver_tests LABEL sim SOURCES
    driver_faults.cpp driver_graphs.cpp driver_kernels.cpp driver_library_loading.cpp
    driver_memory.cpp driver_pdl.cpp driver_queries.cpp driver_report.cpp driver_streams.cpp
    driver_support.cpp driver_threads.cpp)
  add_dependencies(sim_driver_tests quantjit_simcuda driver_trace driver_devices)
  target_compile_definitions(sim_driver_tests PRIVATE
    QUANTJIT_SIMCUDA_LIBRARY="$<TARGET_FILE:quantjit_simcuda>"
    QUANTJIT_DRIVER_TRACE="$<TARGET_FILE:driver_trace>"
    QUANTJIT_DRIVER_DEVICES="$<TARGET_FILE:driver_devices>"
    QUANTJIT_DRIVER_REPORT="${PROJECT_SOURCE_DIR}/tests/gpu/reports/h200_driver_trace.txt"
    QUANTJIT_SIMCUDA_README="${PROJECT_SOURCE_DIR}/tools/simcuda/README.md")
endif()

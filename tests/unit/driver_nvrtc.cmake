# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources
  driver_device.cpp driver_error.cpp driver_fork.cpp driver_launch.cpp driver_library.cpp driver_loading.cpp
  driver_stream.cpp)

# Driver libraries that a test machine cannot have, found beside the test program.
function(quantjit_fake_driver variant)
  set(target quantjit_fake_driver_${variant})
  add_library(${target} MODULE
    "${PROJECT_SOURCE_DIR}/tests/support/fake_driver.cpp" "${PROJECT_SOURCE_DIR}/tests/support/fake_driver_streams.cpp")
  target_link_libraries(${target} PRIVATE quantjit_warnings quantjit_flags quantjit_cuda_headers)
  target_compile_definitions(${target} PRIVATE ${ARGN})
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME fake_driver_${variant} CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/fake_driver")
  cmake_language(EVAL CODE "cmake_language(DEFER CALL add_dependencies unit_tests ${target})")
endfunction()

quantjit_fake_driver(complete)
quantjit_fake_driver(too_old QUANTJIT_FAKE_VERSION=11080)
quantjit_fake_driver(no_device QUANTJIT_FAKE_DEVICES=0)
quantjit_fake_driver(incomplete QUANTJIT_FAKE_MISSING="cuLaunchKernelEx")
quantjit_fake_driver(before_12_4 QUANTJIT_FAKE_VERSION=12030 QUANTJIT_FAKE_MISSING="cuKernelGetParamInfo")
quantjit_fake_driver(plain_ptx QUANTJIT_FAKE_PLAIN QUANTJIT_FAKE_PTX)

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
    CXX_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/fake_driver")
  cmake_language(EVAL CODE "cmake_language(DEFER CALL add_dependencies unit_tests ${target})")
endfunction()

quantjit_fake_driver(complete)
quantjit_fake_driver(too_old QUANTJIT_FAKE_VERSION=11080)
quantjit_fake_driver(no_device QUANTJIT_FAKE_DEVICES=0)
quantjit_fake_driver(incomplete QUANTJIT_FAKE_MISSING="cuLaunchKernelEx")
quantjit_fake_driver(before_12_4 QUANTJIT_FAKE_VERSION=12030 QUANTJIT_FAKE_MISSING="cuKernelGetParamInfo")
quantjit_fake_driver(plain_ptx QUANTJIT_FAKE_PLAIN QUANTJIT_FAKE_PTX)

list(APPEND quantjit_unit_sources
  nvrtc_build_id.cpp nvrtc_find.cpp nvrtc_inspect.cpp nvrtc_library.cpp nvrtc_loader_cache.cpp)

function(quantjit_fake_nvrtc variant)
  set(target quantjit_fake_nvrtc_${variant})
  add_library(${target} MODULE "${PROJECT_SOURCE_DIR}/tests/support/fake_nvrtc.cpp")
  target_link_libraries(${target} PRIVATE quantjit_warnings quantjit_flags quantjit_cuda_headers ${CMAKE_DL_LIBS})
  target_compile_definitions(${target} PRIVATE ${ARGN})
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME fake_nvrtc_${variant} CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/fake_nvrtc")
  cmake_language(EVAL CODE "cmake_language(DEFER CALL add_dependencies unit_tests ${target})")
endfunction()

# Versions that no release has, so that no machine has their companion library either.
quantjit_fake_nvrtc(too_old QUANTJIT_FAKE_MAJOR=12 QUANTJIT_FAKE_MINOR=7 QUANTJIT_FAKE_OLD_API)
quantjit_fake_nvrtc(incomplete QUANTJIT_FAKE_MAJOR=13 QUANTJIT_FAKE_MINOR=77 QUANTJIT_FAKE_OLD_API)
quantjit_fake_nvrtc(complete QUANTJIT_FAKE_MAJOR=13 QUANTJIT_FAKE_MINOR=78)
quantjit_fake_nvrtc(ptx QUANTJIT_FAKE_MAJOR=13 QUANTJIT_FAKE_MINOR=78 QUANTJIT_FAKE_PTX)
quantjit_fake_nvrtc(alone QUANTJIT_FAKE_MAJOR=13 QUANTJIT_FAKE_MINOR=79)
quantjit_fake_nvrtc(first QUANTJIT_FAKE_MAJOR=12 QUANTJIT_FAKE_MINOR=8)

add_library(quantjit_fake_builtins MODULE "${PROJECT_SOURCE_DIR}/tests/support/fake_builtins.c")
target_link_options(quantjit_fake_builtins PRIVATE -Wl,-soname,libnvrtc-builtins.so.13.78)
set_target_properties(quantjit_fake_builtins PROPERTIES PREFIX "" OUTPUT_NAME fake_builtins
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/fake_nvrtc")
cmake_language(DEFER CALL add_dependencies unit_tests quantjit_fake_builtins)

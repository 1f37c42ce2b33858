# SPDX-License-Identifier: Apache-2.0
# quantjit_test(NAME LABEL label SOURCES ... [LIBRARIES ...] [LABELS more...]): one Catch2 program; every test case
# of it is a ctest of its own, named "label: test case".

find_package(Catch2 REQUIRED)
if(Catch2_VERSION VERSION_LESS 2.13.8)
  message(FATAL_ERROR "Catch2 2.13.8 or newer is needed, found ${Catch2_VERSION}")
endif()
string(REGEX REPLACE "\\..*" "" quantjit_catch_major "${Catch2_VERSION}")

# What every test program links: the static library, so that private headers are within reach.
add_library(quantjit_test_base INTERFACE)
target_link_libraries(quantjit_test_base INTERFACE
  quantjit_static quantjit_flags quantjit_thirdparty quantjit_cuda_headers Threads::Threads ${CMAKE_DL_LIBS})
if(quantjit_catch_major EQUAL 2)
  add_library(quantjit_catch_main STATIC "${PROJECT_SOURCE_DIR}/tests/support/catch_main.cpp")
  target_link_libraries(quantjit_catch_main PUBLIC Catch2::Catch2 PRIVATE quantjit_flags)
  target_link_libraries(quantjit_test_base INTERFACE quantjit_catch_main)
else()
  target_link_libraries(quantjit_test_base INTERFACE Catch2::Catch2WithMain)
endif()

# The Catch2 headers, parsed once for all test programs: for 2.13 that is most of a test's compile time.
add_library(quantjit_test_pch OBJECT "${PROJECT_SOURCE_DIR}/tests/support/pch.cpp")
target_link_libraries(quantjit_test_pch PRIVATE quantjit_test_base quantjit_warnings)
target_precompile_headers(quantjit_test_pch PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/catch.hpp")

function(quantjit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "SOURCES;LIBRARIES;LABELS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE quantjit_warnings quantjit_test_base ${arg_LIBRARIES})
  target_precompile_headers(${name} REUSE_FROM quantjit_test_pch)

  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${PROJECT_SOURCE_DIR}/tools/cmake/QuantjitDiscoverTests.cmake")
  set(list "${CMAKE_CURRENT_BINARY_DIR}/${name}_list.cmake")
  string(JOIN "," labels ${arg_LABEL} ${arg_LABELS})
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${name}>" "-DOUTPUT=${list}" "-DLABELS=${labels}"
            -DCATCH_MAJOR=${quantjit_catch_major} -P "${PROJECT_SOURCE_DIR}/tools/cmake/QuantjitDiscoverTests.cmake")
  # A program that is not built yet is one test that fails, not silence.
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/${name}_include.cmake"
    "if(EXISTS [==[${list}]==])\n  include([==[${list}]==])\nelse()\n"
    "  add_test([==[${arg_LABEL}: ${name} is built]==] ${name}-is-not-built)\n"
    "  set_tests_properties([==[${arg_LABEL}: ${name} is built]==] PROPERTIES LABELS ${arg_LABEL})\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}_include.cmake")
endfunction()

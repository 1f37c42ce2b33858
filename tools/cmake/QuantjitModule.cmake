# SPDX-License-Identifier: Apache-2.0
# quantjit_module(NAME SOURCES ... DEPENDS ...): one object library for one module. DEPENDS names the modules
# whose headers it may include; the include-rule check in tools/check holds the same graph.

add_library(quantjit_warnings INTERFACE)
target_compile_options(quantjit_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow
                       $<$<BOOL:${QUANTJIT_DEV_WARNINGS}>:-Werror>)
# GCC 12 sees overlaps and overflows in std::string's own inlined code that are not there (fixed in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(quantjit_warnings INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()

add_library(quantjit_flags INTERFACE)
target_compile_features(quantjit_flags INTERFACE cxx_std_20)
target_include_directories(quantjit_flags INTERFACE
                           "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
# Messages and logs never carry the build machine's paths.
target_compile_options(quantjit_flags INTERFACE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
add_library(quantjit_sanitizers INTERFACE)
if(QUANTJIT_SANITIZE)
  target_compile_options(quantjit_sanitizers INTERFACE -fsanitize=${QUANTJIT_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(quantjit_sanitizers INTERFACE -fsanitize=${QUANTJIT_SANITIZE})
endif()
target_link_libraries(quantjit_flags INTERFACE quantjit_sanitizers)

set_property(GLOBAL PROPERTY QUANTJIT_MODULES "")

function(quantjit_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LIBRARIES")
  add_library(quantjit_${name} OBJECT ${arg_SOURCES})
  set_target_properties(quantjit_${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON CXX_EXTENSIONS OFF)
  target_link_libraries(quantjit_${name} PRIVATE quantjit_warnings PUBLIC quantjit_flags)
  foreach(dependency IN LISTS arg_DEPENDS)
    # Between object libraries only usage requirements travel; the objects are gathered once, by the libraries.
    target_link_libraries(quantjit_${name} PUBLIC quantjit_${dependency})
  endforeach()
  target_link_libraries(quantjit_${name} PRIVATE ${arg_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY QUANTJIT_MODULES quantjit_${name})
endfunction()

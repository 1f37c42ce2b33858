# SPDX-License-Identifier: Apache-2.0
# libquantjit.so and libquantjit.a, both from the same objects.

get_property(modules GLOBAL PROPERTY QUANTJIT_MODULES)
set(objects "")
foreach(module IN LISTS modules)
  list(APPEND objects $<TARGET_OBJECTS:${module}>)
endforeach()

foreach(kind SHARED STATIC)
  string(TOLOWER ${kind} suffix)
  set(target quantjit_${suffix})
  add_library(${target} ${kind} ${objects})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME quantjit LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib" ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  # An installed one is for C too, where there may be no C++ compiler; quantjitConfig.cmake asks for C++20 otherwise.
  target_compile_features(${target} PUBLIC $<BUILD_INTERFACE:cxx_std_20>)
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS} Threads::Threads ${quantjit_feature_libraries})
  if(QUANTJIT_SANITIZE)
    target_link_options(${target} PUBLIC -fsanitize=${QUANTJIT_SANITIZE})
  endif()
endforeach()

set(version_script "${PROJECT_SOURCE_DIR}/tools/cmake/libquantjit.map")
target_link_options(quantjit_shared PRIVATE "-Wl,--version-script=${version_script}" "-Wl,--no-undefined-version"
                    "-Wl,--gc-sections")
set_property(TARGET quantjit_shared APPEND PROPERTY LINK_DEPENDS "${version_script}")
if(NOT QUANTJIT_SANITIZE)
  target_link_options(quantjit_shared PRIVATE "-Wl,-z,defs")
endif()

set_target_properties(quantjit_shared PROPERTIES EXPORT_NAME quantjit)
set_target_properties(quantjit_static PROPERTIES EXPORT_NAME static)
add_library(quantjit::quantjit ALIAS quantjit_shared)
add_library(quantjit::static ALIAS quantjit_static)

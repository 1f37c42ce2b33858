# SPDX-License-Identifier: Apache-2.0
# Third-party headers, all of them private to a few .cpp files.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)

# fmt and spdlog are compiled in, header-only, so that libquantjit.so depends on neither and exports neither.
add_library(quantjit_thirdparty INTERFACE)
foreach(package fmt::fmt-header-only nlohmann_json::nlohmann_json)
  get_target_property(directories ${package} INTERFACE_INCLUDE_DIRECTORIES)
  if(directories)
    target_include_directories(quantjit_thirdparty SYSTEM INTERFACE ${directories})
  endif()
endforeach()
get_target_property(directories spdlog::spdlog INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(quantjit_thirdparty SYSTEM INTERFACE ${directories})
target_compile_definitions(quantjit_thirdparty INTERFACE FMT_HEADER_ONLY SPDLOG_FMT_EXTERNAL)

# Only the types of cuda.h and nvrtc.h are used; both libraries come by dlopen.
find_path(QUANTJIT_CUDA_INCLUDE_DIR cuda.h
          HINTS "${QUANTJIT_CUDA_ROOT}/include" ENV CUDA_HOME ENV CUDA_PATH
          PATHS /usr/local/cuda/include /opt/cuda/include "${PROJECT_BINARY_DIR}/cuda/include"
          PATH_SUFFIXES include)
if(NOT QUANTJIT_CUDA_INCLUDE_DIR)
  message(FATAL_ERROR "cuda.h was not found: install a CUDA 12.8 or newer toolkit, or run tools/quickstart, which "
                      "fetches the headers as a Python wheel; or set QUANTJIT_CUDA_INCLUDE_DIR")
endif()
file(STRINGS "${QUANTJIT_CUDA_INCLUDE_DIR}/cuda.h" quantjit_cuda_version REGEX "^#define CUDA_VERSION [0-9]+")
string(REGEX REPLACE "[^0-9]*([0-9]+).*" "\\1" quantjit_cuda_version "${quantjit_cuda_version}")
if(quantjit_cuda_version LESS 12080)
  message(FATAL_ERROR "${QUANTJIT_CUDA_INCLUDE_DIR}/cuda.h is of CUDA version ${quantjit_cuda_version}, older than "
                      "12080 (12.8): set QUANTJIT_CUDA_ROOT to a newer toolkit, or run tools/quickstart")
endif()
add_library(quantjit_cuda_headers INTERFACE)
target_include_directories(quantjit_cuda_headers SYSTEM INTERFACE "${QUANTJIT_CUDA_INCLUDE_DIR}")

# SPDX-License-Identifier: Apache-2.0
# Layouts against a real dlpack.h of version 1.1 or newer (which has the 8-bit floats), if there is one.
# tools/provision fetches a Python package that has it.
file(GLOB folders "${PROJECT_BINARY_DIR}/venv/lib/python3*/site-packages/tvm_ffi/include"
                  "${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/tvm_ffi/include")
find_path(QUANTJIT_DLPACK_INCLUDE_DIR dlpack/dlpack.h HINTS ${folders})

set(found FALSE)
if(QUANTJIT_DLPACK_INCLUDE_DIR)
  file(STRINGS "${QUANTJIT_DLPACK_INCLUDE_DIR}/dlpack/dlpack.h" found REGEX "kDLFloat8_e8m0fnu")
endif()
if(found)
  add_executable(capi_layout "${CMAKE_CURRENT_SOURCE_DIR}/layout.c")
  set_target_properties(capi_layout PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  target_include_directories(capi_layout PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_include_directories(capi_layout SYSTEM PRIVATE "${QUANTJIT_DLPACK_INCLUDE_DIR}")
  target_link_libraries(capi_layout PRIVATE quantjit_warnings)
  add_test(NAME "capi: tensors have the layout of DLPack" COMMAND capi_layout)
else()
  add_test(NAME "capi: tensors have the layout of DLPack"
           COMMAND "${CMAKE_COMMAND}" -E echo "[skipped] needs dlpack/dlpack.h of version 1.1 or newer")
  set_tests_properties("capi: tensors have the layout of DLPack" PROPERTIES SKIP_REGULAR_EXPRESSION "[[]skipped[]]")
endif()
set_tests_properties("capi: tensors have the layout of DLPack" PROPERTIES LABELS capi)

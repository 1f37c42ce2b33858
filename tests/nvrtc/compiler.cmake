# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_nvrtc_sources compile.cpp inspect_cubin.cpp toolchain_library.cpp)

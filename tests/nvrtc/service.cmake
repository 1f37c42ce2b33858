# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_nvrtc_sources service_jit.cpp service_waiting.cpp)

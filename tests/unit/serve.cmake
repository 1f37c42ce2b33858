# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources serve_queue.cpp)
list(APPEND quantjit_unit_libraries quantjit_serve)

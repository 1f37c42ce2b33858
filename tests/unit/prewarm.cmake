# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources io_manifest.cpp io_trace.cpp)

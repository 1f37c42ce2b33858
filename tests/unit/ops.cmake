# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources ops_checks.cpp ops_outputs.cpp)

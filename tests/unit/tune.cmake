# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources tune_search.cpp "${PROJECT_SOURCE_DIR}/tools/cli/tune_search.cpp")

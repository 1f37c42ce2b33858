# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources remote_url.cpp)

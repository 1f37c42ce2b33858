# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources base_misc.cpp base_resources.cpp base_sha256.cpp)

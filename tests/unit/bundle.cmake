# SPDX-License-Identifier: Apache-2.0
if(QUANTJIT_ZSTD_FOUND)
  list(APPEND quantjit_unit_sources
    bundle_format.cpp bundle_import.cpp bundle_layer.cpp ../support/bundle_fixture.cpp)
  if(QUANTJIT_OPENSSL_FOUND)
    list(APPEND quantjit_unit_sources bundle_signature.cpp)
  endif()
else()
  list(APPEND quantjit_unit_sources bundle_features.cpp)
endif()

# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources
  remote_file.cpp remote_url.cpp ../support/loopback_server.cpp ../support/remote_fixture.cpp)
if(QUANTJIT_HIREDIS_FOUND)
  list(APPEND quantjit_unit_sources remote_redis.cpp)
endif()
if(QUANTJIT_CURL_FOUND)
  list(APPEND quantjit_unit_sources remote_compile_service.cpp remote_http.cpp remote_s3.cpp)
endif()

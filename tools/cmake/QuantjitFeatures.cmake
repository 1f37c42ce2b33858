# SPDX-License-Identifier: Apache-2.0
# Optional features: each is on if the library that it needs is there. `quantjit doctor` lists them.
#
#   QUANTJIT_ZSTD=AUTO|ON|OFF     bundles, through libzstd; ON: an error without it
#   QUANTJIT_OPENSSL=AUTO|ON|OFF  signatures of bundles, through libcrypto of OpenSSL 3; needs zstd to be of use
#   QUANTJIT_HIREDIS=AUTO|ON|OFF  remote tiers on Redis, through hiredis; redis over TLS where OpenSSL is on, too
#   QUANTJIT_CURL=AUTO|ON|OFF     remote tiers on HTTP servers and compile services, through libcurl 7.75 or newer
#   QUANTJIT_MICROHTTPD=AUTO|ON|OFF  `quantjit serve`, through libmicrohttpd; of the command alone, never of libquantjit
#   QUANTJIT_NVTX=AUTO|ON|OFF     ranges for profilers, through the NVTX headers of a CUDA toolkit; no library
#   QUANTJIT_STATIC_DEPENDENCIES  link these libraries' archives in, so that programs run where they are not installed.
#                                 Those of libcurl and libmicrohttpd need a dozen other archives (TLS, LDAP, Kerberos),
#                                 so AUTO leaves both out then, and ON links their shared libraries all the same.

option(QUANTJIT_STATIC_DEPENDENCIES "Link the archives of optional libraries in" OFF)
set(QUANTJIT_ZSTD AUTO CACHE STRING "Bundles (libzstd): AUTO, ON or OFF")
set(QUANTJIT_OPENSSL AUTO CACHE STRING "Signatures of bundles (OpenSSL 3): AUTO, ON or OFF")
set(QUANTJIT_HIREDIS AUTO CACHE STRING "Remote tiers on Redis (hiredis): AUTO, ON or OFF")
set(QUANTJIT_CURL AUTO CACHE STRING "Remote tiers over HTTP (libcurl): AUTO, ON or OFF")
set(QUANTJIT_MICROHTTPD AUTO CACHE STRING "quantjit serve (libmicrohttpd): AUTO, ON or OFF")
set_property(CACHE QUANTJIT_ZSTD QUANTJIT_OPENSSL QUANTJIT_HIREDIS QUANTJIT_CURL QUANTJIT_MICROHTTPD PROPERTY STRINGS AUTO ON OFF)

# What the installed packages of the static library name.
set(quantjit_feature_libraries "")

# quantjit_feature(KEY HEADER LIBRARY PACKAGE [TOOL] [SHARED] [VERSION_HEADER FILE VERSION REGEX]): target
# quantjit_<key> and QUANTJIT_<KEY>_FOUND. TOOL: a program links the target; else libquantjit links the library and the
# target holds what its modules compile with. SHARED: never an archive. VERSION: what the header must hold.
function(quantjit_feature key header library package)
  cmake_parse_arguments(PARSE_ARGV 4 arg "TOOL;SHARED" "VERSION_HEADER;VERSION" "")
  string(TOUPPER ${key} upper)
  add_library(quantjit_${key} INTERFACE)
  set(QUANTJIT_${upper}_FOUND FALSE PARENT_SCOPE)
  if(QUANTJIT_${upper} STREQUAL "OFF" OR
     (arg_SHARED AND QUANTJIT_STATIC_DEPENDENCIES AND NOT QUANTJIT_${upper} STREQUAL "ON"))
    return()
  endif()
  find_path(QUANTJIT_${upper}_INCLUDE_DIR ${header})
  if(QUANTJIT_STATIC_DEPENDENCIES AND NOT arg_SHARED)
    find_library(QUANTJIT_${upper}_ARCHIVE lib${library}.a)
    set(file "${QUANTJIT_${upper}_ARCHIVE}")
  else()
    find_library(QUANTJIT_${upper}_LIBRARY ${library})
    set(file "${QUANTJIT_${upper}_LIBRARY}")
  endif()
  set(found TRUE)
  if(NOT QUANTJIT_${upper}_INCLUDE_DIR OR NOT file)
    set(found FALSE)
  elseif(arg_VERSION)
    file(STRINGS "${QUANTJIT_${upper}_INCLUDE_DIR}/${arg_VERSION_HEADER}" version REGEX "${arg_VERSION}")
    if(NOT version)
      set(found FALSE)
    endif()
  endif()
  if(NOT found)
    if(QUANTJIT_${upper} STREQUAL "ON")
      message(FATAL_ERROR "QUANTJIT_${upper} is ON, but ${header} or lib${library} was not found or is too old: "
                          "install ${package}")
    endif()
    return()
  endif()
  set(QUANTJIT_${upper}_FOUND TRUE PARENT_SCOPE)
  target_include_directories(quantjit_${key} SYSTEM INTERFACE "${QUANTJIT_${upper}_INCLUDE_DIR}")
  if(arg_TOOL)
    target_link_libraries(quantjit_${key} INTERFACE "${file}")
    return()
  endif()
  # An installed static library names the library, not where it was on the machine that built it.
  list(APPEND quantjit_feature_libraries "$<BUILD_INTERFACE:${file}>$<INSTALL_INTERFACE:${library}>")
  set(quantjit_feature_libraries "${quantjit_feature_libraries}" PARENT_SCOPE)
  set(quantjit_pc_private "${quantjit_pc_private} -l${library}" PARENT_SCOPE)
endfunction()

quantjit_feature(zstd zstd.h zstd libzstd-dev)
# After what needs it: an archive is searched once, for what is missing by then.
quantjit_feature(hiredis hiredis/hiredis.h hiredis libhiredis-dev)
quantjit_feature(curl curl/curl.h curl libcurl4-openssl-dev SHARED
                 VERSION_HEADER curl/curlver.h VERSION "LIBCURL_VERSION_NUM 0x0(74[b-f]|7[5-9a-f].|[89a-f]..)")
quantjit_feature(microhttpd microhttpd.h microhttpd libmicrohttpd-dev TOOL SHARED)

# TLS to Redis is OpenSSL's own, whatever hiredis was built with.
set(QUANTJIT_REDIS_TLS ${QUANTJIT_OPENSSL})
if(NOT QUANTJIT_HIREDIS_FOUND)
  set(QUANTJIT_REDIS_TLS OFF)
endif()
set(quantjit_openssl_version VERSION_HEADER openssl/opensslv.h VERSION "OPENSSL_VERSION_MAJOR +[3-9]")
quantjit_feature(redis_tls openssl/ssl.h ssl libssl-dev ${quantjit_openssl_version})
quantjit_feature(openssl openssl/evp.h crypto libssl-dev ${quantjit_openssl_version})

# Headers alone: NVTX finds the profiler at run time.
set(QUANTJIT_NVTX AUTO CACHE STRING "Ranges for profilers (NVTX headers): AUTO, ON or OFF")
set_property(CACHE QUANTJIT_NVTX PROPERTY STRINGS AUTO ON OFF)
add_library(quantjit_nvtx INTERFACE)
set(QUANTJIT_NVTX_FOUND FALSE)
if(NOT QUANTJIT_NVTX STREQUAL "OFF")
  find_path(QUANTJIT_NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h
            HINTS "${QUANTJIT_CUDA_ROOT}/include" "${QUANTJIT_CUDA_INCLUDE_DIR}" ENV CUDA_HOME ENV CUDA_PATH
            PATHS /usr/local/cuda/include /opt/cuda/include
            PATH_SUFFIXES include)
  if(QUANTJIT_NVTX_INCLUDE_DIR)
    set(QUANTJIT_NVTX_FOUND TRUE)
    target_include_directories(quantjit_nvtx SYSTEM INTERFACE "${QUANTJIT_NVTX_INCLUDE_DIR}")
  elseif(QUANTJIT_NVTX STREQUAL "ON")
    message(FATAL_ERROR "QUANTJIT_NVTX is ON, but nvtx3/nvToolsExt.h was not found: install a CUDA toolkit or the Python "
                        "wheel nvidia-nvtx, and set QUANTJIT_NVTX_INCLUDE_DIR to the folder that holds nvtx3")
  endif()
endif()

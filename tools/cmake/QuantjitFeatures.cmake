# SPDX-License-Identifier: Apache-2.0
# Optional features: each is on if the library that it needs is there. `quantjit doctor` lists them.
#
#   QUANTJIT_ZSTD=AUTO|ON|OFF     bundles, through libzstd; ON: an error without it
#   QUANTJIT_OPENSSL=AUTO|ON|OFF  signatures of bundles, through libcrypto of OpenSSL 3; needs zstd to be of use
#   QUANTJIT_STATIC_DEPENDENCIES  link these libraries' archives in, so that programs run where they are not installed

option(QUANTJIT_STATIC_DEPENDENCIES "Link the archives of optional libraries in" OFF)
set(QUANTJIT_ZSTD AUTO CACHE STRING "Bundles (libzstd): AUTO, ON or OFF")
set(QUANTJIT_OPENSSL AUTO CACHE STRING "Signatures of bundles (OpenSSL 3): AUTO, ON or OFF")
set_property(CACHE QUANTJIT_ZSTD QUANTJIT_OPENSSL PROPERTY STRINGS AUTO ON OFF)

# What the installed packages of the static library name.
set(quantjit_feature_libraries "")

# quantjit_feature(KEY HEADER LIBRARY PACKAGE): target quantjit_<key> and QUANTJIT_<KEY>_FOUND.
function(quantjit_feature key header library package)
  string(TOUPPER ${key} upper)
  add_library(quantjit_${key} INTERFACE)
  set(QUANTJIT_${upper}_FOUND FALSE PARENT_SCOPE)
  if(QUANTJIT_${upper} STREQUAL "OFF")
    return()
  endif()
  find_path(QUANTJIT_${upper}_INCLUDE_DIR ${header})
  if(QUANTJIT_STATIC_DEPENDENCIES)
    find_library(QUANTJIT_${upper}_ARCHIVE lib${library}.a)
    set(file "${QUANTJIT_${upper}_ARCHIVE}")
  else()
    find_library(QUANTJIT_${upper}_LIBRARY ${library})
    set(file "${QUANTJIT_${upper}_LIBRARY}")
  endif()
  set(found TRUE)
  if(NOT QUANTJIT_${upper}_INCLUDE_DIR OR NOT file)
    set(found FALSE)
  elseif(key STREQUAL openssl)
    file(STRINGS "${QUANTJIT_OPENSSL_INCLUDE_DIR}/openssl/opensslv.h" major REGEX "OPENSSL_VERSION_MAJOR +[3-9]")
    if(NOT major)
      set(found FALSE)
    endif()
  endif()
  if(NOT found)
    if(QUANTJIT_${upper} STREQUAL "ON")
      message(FATAL_ERROR "QUANTJIT_${upper} is ON, but ${header} or lib${library} was not found: install ${package}")
    endif()
    return()
  endif()
  set(QUANTJIT_${upper}_FOUND TRUE PARENT_SCOPE)
  target_include_directories(quantjit_${key} SYSTEM INTERFACE "${QUANTJIT_${upper}_INCLUDE_DIR}")
  # An installed static library names the library, not where it was on the machine that built it.
  list(APPEND quantjit_feature_libraries "$<BUILD_INTERFACE:${file}>$<INSTALL_INTERFACE:${library}>")
  set(quantjit_feature_libraries "${quantjit_feature_libraries}" PARENT_SCOPE)
  set(quantjit_pc_private "${quantjit_pc_private} -l${library}" PARENT_SCOPE)
endfunction()

quantjit_feature(zstd zstd.h zstd libzstd-dev)
quantjit_feature(openssl openssl/evp.h crypto libssl-dev)

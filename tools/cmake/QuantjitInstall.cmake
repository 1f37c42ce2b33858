# SPDX-License-Identifier: Apache-2.0
# Install rules: headers, both libraries, find_package(quantjit 1) and pkg-config. The installed tree can be moved.
include(CMakePackageConfigHelpers)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/quantjit" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(TARGETS quantjit_shared quantjit_static EXPORT quantjit
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/quantjit")
install(EXPORT quantjit NAMESPACE quantjit:: FILE quantjitTargets.cmake DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/tools/cmake/quantjitConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/quantjitConfig.cmake" INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/quantjitConfigVersion.cmake"
  VERSION "${PROJECT_VERSION}" COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/quantjitConfig.cmake" "${PROJECT_BINARY_DIR}/quantjitConfigVersion.cmake"
        DESTINATION "${package_dir}")

# The prefix is written relative to the .pc file.
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(quantjit_pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(quantjit_pc_libdir "${CMAKE_INSTALL_FULL_LIBDIR}")
  set(quantjit_pc_includedir "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
  file(RELATIVE_PATH up "/prefix/${pkgconfig_dir}" "/prefix")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(quantjit_pc_prefix "\${pcfiledir}/${up}")
  set(quantjit_pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(quantjit_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file("${PROJECT_SOURCE_DIR}/tools/cmake/quantjit.pc.in" "${PROJECT_BINARY_DIR}/quantjit.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/quantjit.pc" DESTINATION "${pkgconfig_dir}")

if(QUANTJIT_BUILD_TOOLS)
  install(TARGETS quantjit quantjit_simcuda RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()

# cpack -G DEB makes one package of all that.
set(CPACK_PACKAGE_NAME quantjit)
set(CPACK_PACKAGE_VENDOR quantjit)
set(CPACK_PACKAGE_CONTACT "quantjit maintainers <maintainers@quantjit.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
# Neither a driver nor NVRTC is needed to install or to link.
find_program(QUANTJIT_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(QUANTJIT_SHLIBDEPS)
if(QUANTJIT_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6, libgcc-s1, libstdc++6")
  if(QUANTJIT_ZSTD_FOUND)
    string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libzstd1")
  endif()
  if(QUANTJIT_OPENSSL_FOUND)
    string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libssl3 | libssl3t64")
  endif()
  if(QUANTJIT_HIREDIS_FOUND)
    string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libhiredis0.14 | libhiredis1.1.0")
  endif()
  if(QUANTJIT_CURL_FOUND)
    string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libcurl4 | libcurl4t64")
  endif()
  if(QUANTJIT_BUILD_TOOLS AND QUANTJIT_MICROHTTPD_FOUND)
    string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libmicrohttpd12 | libmicrohttpd12t64")
  endif()
endif()
# The package manager runs ldconfig.
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/tools/cmake/deb/triggers")
include(CPack)

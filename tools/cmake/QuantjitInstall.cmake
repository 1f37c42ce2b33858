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

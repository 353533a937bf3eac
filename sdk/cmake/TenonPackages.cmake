# Packages, made in the build folder by `cpack -G DEB` or `cpack -G TGZ`:
#
#   libtenon0.1            the shared library, with the CPU backend
#   tenon-backend-opencl   backends of devices, each found when it is there
#   tenon-backend-fpga
#   tenon-tools            the command, boards, schemas, completion, man page
#   libtenon-dev           headers, archives, CMake package, pkg-config
#
# The tarball has all of them in one folder, which works wherever it is put.
#
# `cpack --config CPackSourceConfig.cmake` packs the sources, without what was built beside them.

if(TENON_SHARED)
  install(TARGETS tenon_shared EXPORT tenon_targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev)
  foreach(name IN LISTS TENON_MODULES)
    install(TARGETS tenon_module_${name}
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT backend_${name} NAMELINK_SKIP)
  endforeach()
  configure_file(sdk/cmake/tenon-shared.pc.in "${PROJECT_BINARY_DIR}/package/tenon-shared.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/package/tenon-shared.pc"
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

set(CPACK_PACKAGE_VENDOR "Tenon")
set(CPACK_PACKAGE_CONTACT "Tenon developers <tenon@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_FILE_NAME
  "tenon-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_OUTPUT_FILE_PREFIX "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_COMPONENTS_ALL tools dev)
if(TENON_SHARED)
  list(PREPEND CPACK_COMPONENTS_ALL runtime)
  foreach(name IN LISTS TENON_MODULES)
    list(APPEND CPACK_COMPONENTS_ALL backend_${name})
  endforeach()
endif()

# Paths of the system's own packages, whatever prefix this build has.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION "libs")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/shared")
if(CMAKE_CROSSCOMPILING)
  # dpkg-shlibdeps would look among this machine's libraries.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^arm")
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE armhf)
  else()
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE "${CMAKE_SYSTEM_PROCESSOR}")
  endif()
endif()
set(library_package "libtenon${TENON_SOVERSION}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME "${library_package}")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Tenon's runtime, with the CPU backend")
foreach(name IN LISTS TENON_MODULES)
  string(TOUPPER ${name} upper)
  set(CPACK_DEBIAN_BACKEND_${upper}_PACKAGE_NAME "tenon-backend-${name}")
  set(CPACK_DEBIAN_BACKEND_${upper}_PACKAGE_DEPENDS "${library_package} (= ${PROJECT_VERSION})")
  set(CPACK_COMPONENT_BACKEND_${upper}_DESCRIPTION "Tenon's backend '${name}'")
endforeach()
set(CPACK_DEBIAN_BACKEND_OPENCL_PACKAGE_RECOMMENDS "ocl-icd-libopencl1")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME "tenon-tools")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION "devel")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "The command 'tenon': converts, runs and measures plans")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME "libtenon-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION "libdevel")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Headers and libraries to build programs with Tenon")
if(TENON_SHARED)
  set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${library_package} (= ${PROJECT_VERSION})")
endif()
# The archives want what they were built with when programs are linked.
set(dev_suggests "")
if(TENON_ONEDNN)
  list(APPEND dev_suggests libdnnl-dev)
endif()
if(TENON_BACKEND_FPGA)
  list(APPEND dev_suggests libxrt-dev uuid-dev)
endif()
if(TENON_CONVERTER)
  list(APPEND dev_suggests libonnx-dev libprotobuf-dev libfmt-dev coinor-libcbc-dev)
endif()
list(JOIN dev_suggests ", " CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS)

# What .gitignore leaves out, wherever this build is. Paths are patterns to CPack.
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME "tenon-${PROJECT_VERSION}-source")
set(CPACK_SOURCE_IGNORE_FILES "/\\.git(/|$)" "/__pycache__/" "/\\.venv[^/]*/")
foreach(folder "${PROJECT_SOURCE_DIR}/build" "${PROJECT_SOURCE_DIR}/out" "${PROJECT_BINARY_DIR}")
  string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" folder "${folder}")
  list(APPEND CPACK_SOURCE_IGNORE_FILES "^${folder}/")
endforeach()
include(CPack)

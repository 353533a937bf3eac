# Installation: the command, the public headers, board files, and these libraries:
#   tenon::runtime         the C interface (tenon.h, tenon.hpp) with files, heap and every backend
#                          of the build as default
#   tenon::backend_cpu     the CPU backend by itself
#   tenon::backend_opencl  the same for OpenCL; where TENON_BACKEND_OPENCL
#   tenon::backend_fpga    the same for FPGAs; where TENON_BACKEND_FPGA
#   tenon::backend_api     headers for backends of others (tenon/backend.hpp)
#   tenon::shared          the C interface as a shared library, backends of devices as modules; where
#                          TENON_SHARED (TenonShared.cmake)
#   tenon::converter       model to plan (tenon/converter.hpp, inspect.hpp, profiler.hpp); where
#                          TENON_CONVERTER
# Of firmware: the archives and headers of runtime and backend_cpu; for the build machine the script
# that puts errors into words.
# Inside the build there are many small libraries, one per layer, so that the layers stay apart.
# Those are nobody's business outside: each installed library is one archive of the objects of all
# that it is made from, collected here from the link graph, so that new ones need no line here.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What is for those who build programs, where nothing else is said (TenonPackages.cmake).
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)

# Appends to `result` every static library of this project that `target` needs, itself included,
# and to `result_foreign` the libraries of others.
function(tenon_collect target result result_foreign)
  get_target_property(aliased ${target} ALIASED_TARGET)
  if(aliased)
    set(target ${aliased})
  endif()
  if(target IN_LIST ${result})
    return()
  endif()
  set(collected ${${result}})
  set(foreign ${${result_foreign}})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND collected ${target})
  endif()
  set(needed "")
  foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
    get_target_property(libraries ${target} ${property})
    if(libraries)
      list(APPEND needed ${libraries})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES needed)
  foreach(library IN LISTS needed)
    while(library MATCHES "^\\$<(LINK_ONLY|BUILD_INTERFACE):(.*)>$")
      set(library "${CMAKE_MATCH_2}")
    endwhile()
    if(library MATCHES "^tenon(_|::)" AND TARGET ${library})
      tenon_collect(${library} collected foreign)
    else()
      list(APPEND foreign ${library})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES foreign)
  set(${result} ${collected} PARENT_SCOPE)
  set(${result_foreign} ${foreign} PARENT_SCOPE)
endfunction()

# tenon_package_library(NAME TARGETS...): archive libtenon_NAME.a, exported as tenon::NAME.
function(tenon_package_library name)
  set(objects "")
  foreach(target IN LISTS ARGN)
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
  endforeach()
  add_library(tenon_package_${name} STATIC ${objects})
  set_target_properties(tenon_package_${name} PROPERTIES
    EXPORT_NAME ${name} OUTPUT_NAME tenon_${name} LINKER_LANGUAGE CXX
    ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/package")
  target_include_directories(tenon_package_${name} INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS tenon_package_${name} EXPORT tenon_targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# What the device needs is shared out by who needs it: a backend has its own objects only, and takes
# status, shapes and the op rules from the runtime.
set(host_targets "")
set(host_foreign "")
if(TENON_FIRMWARE)
  tenon_collect(tenon_firmware_kernels host_targets host_foreign)
else()
  tenon_collect(tenon_host host_targets host_foreign)
endif()
set(cpu_targets ${host_targets})
list(FILTER cpu_targets INCLUDE REGEX "^tenon_(cpu|backend_cpu)")
set(opencl_targets ${host_targets})
list(FILTER opencl_targets INCLUDE REGEX "^tenon_opencl")
set(runtime_targets ${host_targets})
set(fpga_targets ${host_targets})
list(FILTER fpga_targets INCLUDE REGEX "^tenon_fpga")
list(REMOVE_ITEM runtime_targets ${cpu_targets} ${opencl_targets} ${fpga_targets})
tenon_package_library(runtime ${runtime_targets})
tenon_package_library(backend_cpu ${cpu_targets})
# Either needs the other: tenon_plan_open names the backends of the build.
target_link_libraries(tenon_package_runtime INTERFACE
  tenon_package_backend_cpu)
target_link_libraries(tenon_package_backend_cpu INTERFACE
  tenon_package_runtime)
if(TENON_BACKEND_OPENCL)
  tenon_package_library(backend_opencl ${opencl_targets})
  target_link_libraries(tenon_package_runtime INTERFACE tenon_package_backend_opencl)
  target_link_libraries(tenon_package_backend_opencl INTERFACE
    tenon_package_runtime ${CMAKE_DL_LIBS})
endif()
if(TENON_BACKEND_FPGA)
  tenon_package_library(backend_fpga ${fpga_targets})
  target_link_libraries(tenon_package_runtime INTERFACE tenon_package_backend_fpga)
  target_link_libraries(tenon_package_backend_fpga INTERFACE
    tenon_package_runtime $<INSTALL_INTERFACE:XRT::coreutil>)
endif()
set(TENON_PACKAGE_OPENMP OFF)
if("OpenMP::OpenMP_CXX" IN_LIST host_foreign)
  set(TENON_PACKAGE_OPENMP ON)
  target_link_libraries(tenon_package_backend_cpu INTERFACE $<INSTALL_INTERFACE:tenon::openmp>)
endif()
if(TENON_ONEDNN)
  target_link_libraries(tenon_package_backend_cpu INTERFACE $<INSTALL_INTERFACE:DNNL::dnnl>)
endif()

set(package_headers sdk/include/tenon/backend.hpp sdk/include/tenon/stream.h
  sdk/include/tenon/tenon.h sdk/include/tenon/version.h)
if(NOT TENON_FIRMWARE)
  list(APPEND package_headers sdk/include/tenon/debug.h sdk/include/tenon/tenon.hpp)
endif()
if(TENON_CONVERTER)
  set(converter_targets "")
  set(converter_foreign "")
  tenon_collect(tenon_converter converter_targets converter_foreign)
  list(REMOVE_ITEM converter_targets ${host_targets})
  tenon_package_library(converter ${converter_targets})
  target_link_libraries(tenon_package_converter INTERFACE tenon_package_runtime)
  list(REMOVE_ITEM converter_foreign ${host_foreign})
  # Used by the converter's sources alone, and headers only.
  list(FILTER converter_foreign EXCLUDE REGEX "nlohmann_json|flatbuffers")
  foreach(library IN LISTS converter_foreign)
    target_link_libraries(tenon_package_converter INTERFACE $<INSTALL_INTERFACE:${library}>)
  endforeach()
  list(APPEND package_headers sdk/include/tenon/converter.hpp sdk/include/tenon/inspect.hpp
    sdk/include/tenon/profiler.hpp)
endif()

install(FILES ${package_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenon)

# What backends of others are written against, and all that it includes.
add_library(tenon_package_backend_api INTERFACE)
set_target_properties(tenon_package_backend_api PROPERTIES EXPORT_NAME backend_api)
set(backend_api_dir ${CMAKE_INSTALL_INCLUDEDIR}/tenon/backend_api)
target_include_directories(tenon_package_backend_api INTERFACE
  $<INSTALL_INTERFACE:${backend_api_dir}>)
target_link_libraries(tenon_package_backend_api INTERFACE tenon_package_runtime)
# Which of the runtime's forms the archives have.
get_target_property(base_definitions tenon_base INTERFACE_COMPILE_DEFINITIONS)
if(base_definitions)
  target_compile_definitions(tenon_package_backend_api INTERFACE ${base_definitions})
endif()
install(TARGETS tenon_package_backend_api EXPORT tenon_targets)
foreach(header base/config base/dtype base/message base/shape base/span base/status base/tensor_view
    ops/attributes ops/functions ops/kernel_caps ops/op_kind ops/op_row ops/packing_key
    backend_api/backend backend_api/device backend_api/kernel backend_api/parallel)
  get_filename_component(folder runtime/${header} DIRECTORY)
  install(FILES runtime/${header}.hpp DESTINATION ${backend_api_dir}/${folder})
endforeach()
install(FILES runtime/ops/functions.inc runtime/ops/ops.inc
  DESTINATION ${backend_api_dir}/runtime/ops)
if(TARGET tenon_modular)
  install(TARGETS tenon_modular RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
elseif(TARGET tenon)
  install(TARGETS tenon RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
endif()
if(TARGET tenon AND NOT CMAKE_CROSSCOMPILING)
  # Completion and manual page say what the command's help says.
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_FOUND)
    set(package_pages "${PROJECT_BINARY_DIR}/package/command")
    add_custom_command(
      OUTPUT "${package_pages}/tenon" "${package_pages}/_tenon" "${package_pages}/tenon.1"
      COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/command_pages.py"
        $<TARGET_FILE:tenon> "${package_pages}"
      DEPENDS tenon "${PROJECT_SOURCE_DIR}/scripts/command_pages.py")
    add_custom_target(tenon_command_pages ALL DEPENDS "${package_pages}/tenon.1")
    install(FILES "${package_pages}/tenon"
      DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
    install(FILES "${package_pages}/_tenon"
      DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT tools)
    install(FILES "${package_pages}/tenon.1" DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
      COMPONENT tools)
  else()
    message(STATUS "Completion and manual page are not installed: they need Python 3")
  endif()
endif()
if(NOT TENON_FIRMWARE)
  file(GLOB package_boards CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sdk/boards/*.json")
  install(FILES ${package_boards} DESTINATION ${CMAKE_INSTALL_DATADIR}/tenon/boards
    COMPONENT tools)
  install(FILES "${PROJECT_BINARY_DIR}/sdk/schema/board.schema.json" sdk/schema/plan.fbs
    DESTINATION ${CMAKE_INSTALL_DATADIR}/tenon/schema COMPONENT tools)
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)
install(EXPORT tenon_targets NAMESPACE tenon:: FILE tenon-targets.cmake
  DESTINATION ${package_cmake_dir})
configure_package_config_file(sdk/cmake/tenon-config.cmake.in
  "${PROJECT_BINARY_DIR}/package/tenon-config.cmake" INSTALL_DESTINATION ${package_cmake_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/tenon-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/tenon-config.cmake"
  "${PROJECT_BINARY_DIR}/package/tenon-config-version.cmake" DESTINATION ${package_cmake_dir})
if(TENON_BACKEND_FPGA)
  install(FILES sdk/cmake/FindXRT.cmake DESTINATION ${package_cmake_dir})
endif()

if(TENON_CONVERTER)
  install(FILES sdk/cmake/FindCBC.cmake DESTINATION ${package_cmake_dir})
endif()

if(NOT TENON_ERROR_WORDS)
  # What turns the numbers of errors into words, with the words.
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_FOUND)
    set(package_messages "${PROJECT_BINARY_DIR}/package/messages.json")
    add_custom_target(tenon_messages ALL BYPRODUCTS "${package_messages}"
      COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/scripts/explain.py"
        --table "${package_messages}")
    install(PROGRAMS scripts/explain.py DESTINATION ${CMAKE_INSTALL_DATADIR}/tenon)
    install(FILES "${package_messages}" DESTINATION ${CMAKE_INSTALL_DATADIR}/tenon)
  else()
    message(STATUS "The words of errors are not installed: they need Python 3")
  endif()
endif()
if(TENON_FIRMWARE)
  return()
endif()
# pkg-config: the runtime. Paths hang from the .pc file's own place, so that the tree can be moved.
set(TENON_PC_ARCHIVES "-ltenon_runtime -ltenon_backend_cpu")
if(TENON_BACKEND_OPENCL)
  string(APPEND TENON_PC_ARCHIVES " -ltenon_backend_opencl")
endif()
if(TENON_BACKEND_FPGA)
  string(APPEND TENON_PC_ARCHIVES " -ltenon_backend_fpga")
endif()
set(TENON_PC_LIBS "-Wl,--start-group ${TENON_PC_ARCHIVES} -Wl,--end-group")
if(TENON_ONEDNN)
  string(APPEND TENON_PC_LIBS " -ldnnl")
endif()
if(TENON_PACKAGE_OPENMP)
  string(APPEND TENON_PC_LIBS " -lgomp")
endif()
if(TENON_BACKEND_OPENCL)
  string(APPEND TENON_PC_LIBS " -ldl")
endif()
if(TENON_BACKEND_FPGA)
  string(APPEND TENON_PC_LIBS " -lxrt_coreutil -luuid")
endif()
string(APPEND TENON_PC_LIBS " -lstdc++ -lm")
file(RELATIVE_PATH TENON_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" TENON_PC_PREFIX "${TENON_PC_PREFIX}")
configure_file(sdk/cmake/tenon.pc.in "${PROJECT_BINARY_DIR}/package/tenon.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/tenon.pc"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

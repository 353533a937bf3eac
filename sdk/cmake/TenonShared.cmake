# The shared library: the C interface with files, heap and the CPU backend. Backends of devices are
# modules beside it, found when a program first asks for backends, so that a machine installs what
# its devices need and no more. Everything but the C interface is hidden.
#
#   libtenon.so.0.1                  tenon::shared
#   libtenon_backend_opencl.so.0.1   a module; where TENON_BACKEND_OPENCL
#   libtenon_backend_fpga.so.0.1     the same; where TENON_BACKEND_FPGA

# Until 1.0 a new minor version may change the binary interface (sdk/include/tenon/version.h).
set(TENON_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
if(PROJECT_VERSION_MAJOR GREATER 0)
  set(TENON_SOVERSION ${PROJECT_VERSION_MAJOR})
endif()

# tenon_shared_library(TARGET OUTPUT_NAME SYMBOLS): what both kinds have in common. SYMBOLS is a
# linker's version script: what is seen outside.
function(tenon_shared_library target output_name symbols)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${output_name} VERSION ${PROJECT_VERSION} SOVERSION ${TENON_SOVERSION}
    CXX_STANDARD 17 CXX_VISIBILITY_PRESET hidden LINK_DEPENDS "${symbols}"
    BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN"
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/shared")
  target_link_options(${target} PRIVATE "-Wl,--version-script=${symbols}" -Wl,--gc-sections
    -Wl,--no-undefined)
endfunction()

# All objects of the C interface, but with a list of backends that looks for modules.
set(host_objects "$<FILTER:$<TARGET_OBJECTS:tenon_host>,EXCLUDE,/backends\\.cpp>")
add_library(tenon_shared SHARED $<TARGET_OBJECTS:tenon_runtime> ${host_objects}
  sdk/src/backends.cpp sdk/src/backend_modules.cpp)
target_compile_definitions(tenon_shared PRIVATE TENON_BACKEND_MODULES=1
  TENON_MODULE_SUFFIX=".so.${TENON_SOVERSION}")
target_link_libraries(tenon_shared PRIVATE $<BUILD_INTERFACE:tenon_device_flags>
  tenon_engine_host tenon_engine tenon_cpu tenon_format tenon_ops tenon_base ${CMAKE_DL_LIBS})
target_include_directories(tenon_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/sdk/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(tenon_shared PRIVATE "${PROJECT_SOURCE_DIR}/sdk/include")
tenon_shared_library(tenon_shared tenon "${PROJECT_SOURCE_DIR}/sdk/abi/tenon.map")
set_target_properties(tenon_shared PROPERTIES EXPORT_NAME shared)

# tenon_backend_module(NAME): the module of backend NAME.
function(tenon_backend_module name)
  string(TOUPPER ${name} upper)
  add_library(tenon_module_${name} SHARED sdk/src/backend_module_${name}.cpp)
  target_link_libraries(tenon_module_${name} PRIVATE
    $<BUILD_INTERFACE:tenon_device_flags> tenon_${name})
  target_include_directories(tenon_module_${name} PRIVATE "${PROJECT_SOURCE_DIR}/sdk/include")
  tenon_shared_library(tenon_module_${name} tenon_backend_${name}
    "${PROJECT_SOURCE_DIR}/sdk/abi/module.map")
  # It stays loaded: a driver may call back after a wait was given up and its user has gone.
  target_link_options(tenon_module_${name} PRIVATE -Wl,-z,nodelete)
endfunction()
set(TENON_MODULES "")
foreach(name opencl fpga)
  string(TOUPPER ${name} upper)
  if(TENON_BACKEND_${upper})
    tenon_backend_module(${name})
    list(APPEND TENON_MODULES ${name})
  endif()
endforeach()

# The command as it is installed: the same objects, but backends of devices come with their modules,
# so that it starts where no device's library is.
if(TARGET tenon)
  get_target_property(tool_libraries tenon LINK_LIBRARIES)
  add_executable(tenon_modular $<TARGET_OBJECTS:tenon> sdk/src/backends.cpp
    sdk/src/backend_modules.cpp)
  target_compile_definitions(tenon_modular PRIVATE TENON_BACKEND_MODULES=1
    TENON_MODULE_SUFFIX=".so.${TENON_SOVERSION}")
  target_link_libraries(tenon_modular PRIVATE tenon_device_flags ${tool_libraries}
    ${CMAKE_DL_LIBS})
  target_link_options(tenon_modular PRIVATE -Wl,--as-needed -Wl,--gc-sections)
  file(RELATIVE_PATH to_libraries "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_target_properties(tenon_modular PROPERTIES OUTPUT_NAME tenon CXX_STANDARD 17
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/package/bin"
    BUILD_RPATH "${PROJECT_BINARY_DIR}/shared" INSTALL_RPATH "$ORIGIN/${to_libraries}")
endif()

# When building for another processor: the libraries that are headers only, and the compiler of
# schemas, are the build machine's own. Each library's headers get a folder to themselves, because
# the folder that holds them all also holds the build machine's C library, which must not be found.

# tenon_host_headers(NAME PATH TARGET): TARGET has the build machine's PATH ("fmt") in its include
# path; sets NAME_FOUND for the caller.
function(tenon_host_headers name path target)
  find_path(TENON_HOST_${name}_DIR "${path}" PATHS /usr/include /usr/local/include
    NO_CMAKE_FIND_ROOT_PATH NO_DEFAULT_PATH)
  mark_as_advanced(TENON_HOST_${name}_DIR)
  if(NOT TENON_HOST_${name}_DIR)
    set(${name}_FOUND FALSE PARENT_SCOPE)
    return()
  endif()
  set(folder "${PROJECT_BINARY_DIR}/host-headers/${name}")
  file(MAKE_DIRECTORY "${folder}")
  file(CREATE_LINK "${TENON_HOST_${name}_DIR}/${path}" "${folder}/${path}" SYMBOLIC)
  if(NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} SYSTEM INTERFACE "${folder}")
  endif()
  set(${name}_FOUND TRUE PARENT_SCOPE)
endfunction()

tenon_host_headers(FlatBuffers flatbuffers flatbuffers::flatbuffers)
find_program(TENON_FLATC flatc NO_CMAKE_FIND_ROOT_PATH)
if(NOT FlatBuffers_FOUND OR NOT TENON_FLATC)
  message(FATAL_ERROR "no FlatBuffers on this machine: install its headers and flatc "
    "(Debian: libflatbuffers-dev, flatbuffers-compiler)")
endif()
if(NOT TARGET flatbuffers::flatc)
  add_executable(flatbuffers::flatc IMPORTED GLOBAL)
  set_target_properties(flatbuffers::flatc PROPERTIES IMPORTED_LOCATION "${TENON_FLATC}")
endif()

tenon_host_headers(doctest doctest doctest::doctest)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  tenon_host_headers(nlohmann_json nlohmann nlohmann_json::nlohmann_json)
  tenon_host_headers(CLI11 CLI CLI11::CLI11)
  tenon_host_headers(fmt fmt fmt::fmt)
  if(fmt_FOUND)
    target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
  endif()
  # The backend finds the OpenCL library when it runs.
  tenon_host_headers(OpenCL CL tenon_host_opencl)
  if(OpenCL_FOUND)
    set(OpenCL_INCLUDE_DIRS "${PROJECT_BINARY_DIR}/host-headers/OpenCL")
  endif()
endif()

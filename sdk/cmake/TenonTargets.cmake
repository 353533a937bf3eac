# How targets are declared: every library of the project goes through these functions, so that
# warnings, sanitizers and language levels are the same everywhere.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

add_library(tenon_flags INTERFACE)
target_compile_options(tenon_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
target_include_directories(tenon_flags INTERFACE "${PROJECT_SOURCE_DIR}")
if(TENON_SANITIZE)
  target_compile_options(tenon_flags INTERFACE
    -fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE})
endif()

# Device code: C++17 without exceptions and RTTI; no fused multiply-add behind the programmer's
# back, so that float results are the same on every target.
add_library(tenon_device_flags INTERFACE)
target_link_libraries(tenon_device_flags INTERFACE tenon_flags)
target_compile_options(tenon_device_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti> -ffp-contract=off
  -ffunction-sections -fdata-sections)

# tenon_device_library(NAME SOURCES...): C++17, no exceptions, no RTTI. Alias tenon::NAME without
# its tenon_ prefix.
function(tenon_device_library name)
  add_library(${name} STATIC ${ARGN})
  target_compile_features(${name} PUBLIC cxx_std_17)
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:tenon_device_flags>)
  set_target_properties(${name} PROPERTIES CXX_STANDARD 17 CXX_VISIBILITY_PRESET hidden)
  string(REGEX REPLACE "^tenon_" "" alias ${name})
  add_library(tenon::${alias} ALIAS ${name})
endfunction()

# tenon_host_library(NAME SOURCES...): C++20.
function(tenon_host_library name)
  add_library(${name} STATIC ${ARGN})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:tenon_flags>)
  set_target_properties(${name} PROPERTIES CXX_STANDARD 20)
  string(REGEX REPLACE "^tenon_" "" alias ${name})
  add_library(tenon::${alias} ALIAS ${name})
endfunction()

# tenon_test(NAME SOURCES ... LIBS ... [LABEL quick|full] [TIMEOUT seconds]): a doctest program,
# one CTest test. Third-party headers come as system headers. For bare metal the program has the
# whole C++ library, and CTest runs it on the emulated board.
function(tenon_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL quick)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tenon_test_main tenon_flags ${arg_LIBS})
  if(TENON_BARE_METAL)
    target_link_libraries(${name} PRIVATE tenon_board_hosted)
    set_target_properties(${name} PROPERTIES SUFFIX .elf)
  endif()
  set_target_properties(${name} PROPERTIES CXX_STANDARD 20
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "TENON_SOURCE_DIR=${PROJECT_SOURCE_DIR};TENON_BINARY_DIR=${PROJECT_BINARY_DIR}")
endfunction()

# How targets are declared: every library of the project goes through these functions, so that
# warnings, sanitizers and language levels are the same everywhere.

# ccache keeps files that use a precompiled header only where it is told that their macros and the
# times in them do not matter.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

# Headers of libraries that most files of a folder include, precompiled to save two fifths of the
# time that their files take. No file may rely on them: each includes what it uses, and builds with
# CMAKE_DISABLE_PRECOMPILE_HEADERS=ON too, as the presets with sanitizers do.
set(TENON_PRECOMPILED_STANDARD <algorithm> <array> <cmath> <cstddef> <cstdint> <cstdlib> <cstring>
  <filesystem> <functional> <iterator> <limits> <map> <memory> <numeric> <optional> <set> <string>
  <string_view> <unordered_map> <utility> <vector>)

add_library(tenon_flags INTERFACE)
target_compile_options(tenon_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
target_include_directories(tenon_flags INTERFACE "${PROJECT_SOURCE_DIR}")
if(TENON_SANITIZE)
  target_compile_options(tenon_flags INTERFACE
    -fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Checks hide from the compiler what the standard library's own code has set.
    target_compile_options(tenon_flags INTERFACE -Wno-maybe-uninitialized)
  elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Loops that are marked to become vectors do not where every access is checked.
    target_compile_options(tenon_flags INTERFACE -Wno-pass-failed)
  endif()
endif()
if(TENON_COVERAGE)
  target_compile_options(tenon_flags INTERFACE --coverage)
  target_link_options(tenon_flags INTERFACE --coverage)
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

# tenon_use_precompiled(TARGET OWNER): the precompiled headers of OWNER, whose flags TARGET has too.
function(tenon_use_precompiled target owner)
  target_precompile_headers(${target} REUSE_FROM ${owner})
  tenon_precompiled_warnings(${target})
endfunction()

# With precompiled headers GCC 12 says of many a std::string that is moved that its memory is left.
# The presets with sanitizers build without such headers, and so with every warning.
function(tenon_precompiled_warnings target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_compile_options(${target} PRIVATE
      -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endfunction()

# tenon_host_library(NAME SOURCES...): C++20. Where TENON_PRECOMPILED_BY is set, that library's
# precompiled headers are used: standard ones and fmt. TENON_HOST_OPTIONS: how it is optimised, if
# not as the build's type has it. Compiled in batches where TENON_BATCHES is on, but not in builds
# of firmware: its tests' libraries are made of device code.
function(tenon_host_library name)
  add_library(${name} STATIC ${ARGN})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:tenon_flags>)
  target_compile_options(${name} PRIVATE ${TENON_HOST_OPTIONS})
  set_target_properties(${name} PROPERTIES CXX_STANDARD 20)
  if(TENON_PRECOMPILED_BY STREQUAL name)
    target_precompile_headers(${name} PRIVATE ${TENON_PRECOMPILED_STANDARD} <fmt/format.h>)
    tenon_precompiled_warnings(${name})
  elseif(TENON_PRECOMPILED_BY)
    tenon_use_precompiled(${name} ${TENON_PRECOMPILED_BY})
    # What they were made with must hold wherever they are used.
    target_compile_definitions(${name}
      PRIVATE $<BUILD_INTERFACE:$<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>>)
  endif()
  string(REGEX REPLACE "^tenon_" "" alias ${name})
  add_library(tenon::${alias} ALIAS ${name})
  if(TENON_BATCHES AND NOT TENON_FIRMWARE)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL tenon_batches [[${name}]])")
  endif()
endfunction()

# tenon_test(NAME SOURCES ... LIBS ... [LABEL quick|full] [TIMEOUT seconds] [ALONE]
# [LONG pattern...]): one CTest test, made of the doctest cases of its sources. LONG: those with such
# names take long and are a test of their own, NAME_long, labelled full. All tests of a folder are one
# program, named for the folder, of which CTest runs the cases of those sources; ALONE: a program of
# its own, named NAME, for what cannot be linked with the folder's other tests. Third-party headers
# come as system headers. Other processors have a program for each test: boards have no memory for more, and the
# quick tests of an emulated processor build few of them. For bare metal the program has the whole
# C++ library, and CTest runs it on the emulated board.
function(tenon_test name)
  cmake_parse_arguments(arg "ALONE" "LABEL;TIMEOUT" "SOURCES;LIBS;LONG" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL quick)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(arg_ALONE OR CMAKE_CROSSCOMPILING)
    tenon_test_program(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE ${arg_LIBS})
    set(program ${name})
    set(cases "")
  else()
    tenon_folder_tests(program)
    set(files "")
    foreach(source IN LISTS arg_SOURCES)
      if(source MATCHES "_test\\.cpp$")
        get_filename_component(path "${source}" ABSOLUTE)
        file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${path}")
        list(APPEND files "*${path}")
      endif()
    endforeach()
    list(JOIN files "," files)
    if(TARGET ${program})
      get_target_property(present ${program} SOURCES)
      list(REMOVE_ITEM arg_SOURCES ${present})
      target_sources(${program} PRIVATE ${arg_SOURCES})
    else()
      tenon_test_program(${program} ${arg_SOURCES})
    endif()
    target_link_libraries(${program} PRIVATE ${arg_LIBS})
    set(cases "--source-file=${files}")
  endif()
  set(tests ${name})
  if(arg_LONG)
    list(JOIN arg_LONG "," long)
    add_test(NAME ${name} COMMAND ${program} ${cases} "-tce=${long}")
    add_test(NAME ${name}_long COMMAND ${program} ${cases} "-tc=${long}")
    list(APPEND tests ${name}_long)
  else()
    add_test(NAME ${name} COMMAND ${program} ${cases})
  endif()
  # A test without cases is a mistake above.
  set_tests_properties(${tests} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
    FAIL_REGULAR_EXPRESSION "test cases: +0 "
    ENVIRONMENT "TENON_SOURCE_DIR=${PROJECT_SOURCE_DIR};TENON_BINARY_DIR=${PROJECT_BINARY_DIR}")
  if(arg_LONG)
    set_tests_properties(${name}_long PROPERTIES LABELS full TIMEOUT 3600)
  endif()
endfunction()

# tenon_folder_tests(VARIABLE): the name of the program with the tests of this folder.
function(tenon_folder_tests variable)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/tests" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REGEX REPLACE "^unit/" "" folder "${folder}")
  string(REPLACE "/" "_" folder "${folder}")
  set(${variable} ${folder}_tests PARENT_SCOPE)
endfunction()

# tenon_test_program(NAME SOURCES...): a doctest program. Optimised lightly, since most of its code
# runs once: what tests share and what takes them long stands in libraries (tests/support). The
# precompiled headers are those of TENON_TEST_PRECOMPILED_BY.
function(tenon_test_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE tenon_test_main tenon_flags)
  target_compile_options(${name} PRIVATE ${TENON_TEST_OPTIONS})
  tenon_use_precompiled(${name} ${TENON_TEST_PRECOMPILED_BY})
  if(TENON_BARE_METAL)
    target_link_libraries(${name} PRIVATE tenon_board_hosted)
    set_target_properties(${name} PROPERTIES SUFFIX .elf)
  endif()
  set_target_properties(${name} PROPERTIES CXX_STANDARD 20
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  if(TENON_BATCHES)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL tenon_batches [[${name}]])")
  endif()
endfunction()

# tenon_batches(PROGRAM): up to eight of its files that lie in one folder are compiled as one
# (docs/decisions/0041-tests-compiled-in-batches.md). Called when all of them are known, so that the
# batches of a folder are of about one size.
function(tenon_batches program)
  set(most 8)
  get_target_property(sources ${program} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  set(folders "")
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" ABSOLUTE)
    get_filename_component(folder "${folder}" DIRECTORY)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${folder}")
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND files_${folder} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH files_${folder} count)
    math(EXPR batches "(${count} + ${most} - 1) / ${most}")
    set(index 0)
    foreach(source IN LISTS files_${folder})
      math(EXPR batch "${index} * ${batches} / ${count}")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${folder}_${batch})
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
  set_target_properties(${program} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Said of types that have members of a file's own types, since the file is included here.
    target_compile_options(${program} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Options of a firmware build: nothing but the compiler's own libraries is there. (For this machine
# such a build runs the same code under its sanitizers.)
if(PROJECT_IS_TOP_LEVEL AND doctest_FOUND)
  set(tests_default ON)
else()
  set(tests_default OFF)
endif()
option(TENON_BACKEND_CPU "Build the CPU backend" ON)
option(TENON_TESTS "Build the tests" ${tests_default})
option(TENON_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(TENON_BATCHES "Compile several files of a test program as one" ${TENON_BARE_METAL})
foreach(option TENON_ONEDNN TENON_BACKEND_OPENCL TENON_BACKEND_FPGA TENON_CONVERTER TENON_BENCH)
  if(${option})
    message(FATAL_ERROR "${option} is not for firmware: leave it off, or TENON_FIRMWARE")
  endif()
  set(${option} OFF)
endforeach()
if(TENON_TESTS AND NOT doctest_FOUND)
  message(FATAL_ERROR "TENON_TESTS: no doctest on this machine (Debian: doctest-dev)")
endif()

# What makes plans for tests and examples: the `tenon` of a build for this machine.
set(TENON_HOST_TOOLS "${PROJECT_SOURCE_DIR}/build/host/bin" CACHE PATH
  "Folder of the command `tenon` for this machine")

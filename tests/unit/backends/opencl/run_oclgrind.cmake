# Runs the test cases of SOURCE in PROGRAM under oclgrind and fails on any of its messages, which it
# gives without failing itself. VECTOR: floats per work-item. OPTIONS: for the compiler. FILTER: doctest's -tc,
# EXCLUDED: its -tce.
set(ENV{TENON_CACHE_DIR} off)
set(ENV{TENON_OPENCL_VECTOR} "${VECTOR}")
set(ENV{TENON_OPENCL_OPTIONS} "${OPTIONS}")
set(log "${LOG}")
cmake_path(GET log PARENT_PATH folder)
file(MAKE_DIRECTORY "${folder}")
file(REMOVE "${log}")
execute_process(
  COMMAND "${OCLGRIND}" --data-races --uninitialized --log "${log}" "${PROGRAM}"
    "--source-file=*/${SOURCE}" "-tc=${FILTER}" "-tce=${EXCLUDED}"
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(NOT EXISTS "${log}")
  message(FATAL_ERROR "oclgrind has written no log: did ${PROGRAM} run under it?")
endif()
file(READ "${log}" messages)
if(NOT messages STREQUAL "")
  string(SUBSTRING "${messages}" 0 4000 messages)
  message(FATAL_ERROR "oclgrind says:\n${messages}")
endif()
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} gave ${result}")
endif()

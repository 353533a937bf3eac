# Finds COIN-OR's CBC, a solver of mixed-integer programs, with its C interface, for which Debian has
# no CMake configuration. Gives CBC_FOUND and the target CBC::solver.
find_path(CBC_INCLUDE_DIR Cbc_C_Interface.h PATH_SUFFIXES coin coin-or)
find_library(CBC_SOLVER CbcSolver)
find_library(CBC_LIBRARY Cbc)
mark_as_advanced(CBC_INCLUDE_DIR CBC_SOLVER CBC_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CBC
  REQUIRED_VARS CBC_SOLVER CBC_LIBRARY CBC_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Debian has it in coinor-libcbc-dev")

if(CBC_FOUND AND NOT TARGET CBC::solver)
  add_library(CBC::solver UNKNOWN IMPORTED)
  set_target_properties(CBC::solver PROPERTIES
    IMPORTED_LOCATION "${CBC_SOLVER}"
    INTERFACE_INCLUDE_DIRECTORIES "${CBC_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${CBC_LIBRARY}")
endif()

# What the toolchain files of Cortex-M cores share: GCC for bare metal (install-cortex-m.sh), and
# QEMU's emulation of a board to run programs on. Each sets `tenon_core` (the -mcpu name),
# `tenon_core_flags` and `tenon_machine` (QEMU's board) before.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR ${tenon_core})

set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
# No program links without a linker script, so CMake's trials build archives.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

foreach(language C CXX ASM)
  set(CMAKE_${language}_FLAGS_INIT "-mthumb -mcpu=${tenon_core} ${tenon_core_flags}")
endforeach()
# Nobody else runs: the first use of a function's static needs no lock.
string(APPEND CMAKE_CXX_FLAGS_INIT " -fno-threadsafe-statics")

# The build machine's own libraries and headers are not this target's.
set(CMAKE_FIND_ROOT_PATH /usr/lib/arm-none-eabi)
# So are packages that the caller names, an installed Tenon for this target say; without this they
# would be looked for under the root above.
string(REPLACE ":" ";" tenon_prefixes "$ENV{CMAKE_PREFIX_PATH}")
list(APPEND CMAKE_FIND_ROOT_PATH ${CMAKE_PREFIX_PATH} ${tenon_prefixes})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# The board whose start-up code and linker script programs take (sdk/examples/firmware/board).
set(TENON_MACHINE ${tenon_machine} CACHE STRING "Board that firmware programs are linked for")
set(CMAKE_CROSSCOMPILING_EMULATOR "${CMAKE_CURRENT_LIST_DIR}/run-cortex-m.sh;${tenon_machine}")

# What the Linux targets share. Included by their toolchain files, which set TENON_TARGET_TRIPLET,
# CMAKE_SYSTEM_PROCESSOR, TENON_QEMU_NAMES and, where wanted, TENON_TARGET_FLAGS.
#
# TENON_QEMU_CPU: the processor that is emulated, as qemu names it; empty: the best that it knows.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${TENON_TARGET_TRIPLET}-gcc)
set(CMAKE_CXX_COMPILER ${TENON_TARGET_TRIPLET}-g++)
set(CMAKE_C_FLAGS_INIT "${TENON_TARGET_FLAGS}")
set(CMAKE_CXX_FLAGS_INIT "${TENON_TARGET_FLAGS}")

# Libraries of the target only: the cross compiler's own folder, and those of a multi-architecture
# Debian. Programs are this machine's.
set(CMAKE_LIBRARY_ARCHITECTURE ${TENON_TARGET_TRIPLET})
set(CMAKE_FIND_ROOT_PATH /usr/${TENON_TARGET_TRIPLET})
# So are packages that the caller names, an installed Tenon for this target say; without this they
# would be looked for under the root above.
string(REPLACE ":" ";" tenon_prefixes "$ENV{CMAKE_PREFIX_PATH}")
list(APPEND CMAKE_FIND_ROOT_PATH ${CMAKE_PREFIX_PATH} ${tenon_prefixes})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(TENON_QEMU_CPU "" CACHE STRING "The processor that qemu emulates; empty: the best it knows")
find_program(TENON_QEMU NAMES ${TENON_QEMU_NAMES})
if(TENON_QEMU)
  # The library path keeps to the cross compiler's C library, whose dynamic loader runs: that of a
  # multi-architecture package beside it may be another version, with which programs loop.
  set(CMAKE_CROSSCOMPILING_EMULATOR "${TENON_QEMU}" -L /usr/${TENON_TARGET_TRIPLET}
    -E LD_LIBRARY_PATH=/lib)
  if(TENON_QEMU_CPU)
    list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -cpu ${TENON_QEMU_CPU})
  endif()
endif()

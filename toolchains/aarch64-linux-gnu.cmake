# 64-bit Arm with Linux; programs run under qemu-user where this machine is none.
set(TENON_TARGET_TRIPLET aarch64-linux-gnu)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(TENON_QEMU_NAMES qemu-aarch64-static qemu-aarch64)
include("${CMAKE_CURRENT_LIST_DIR}/linux-cross.cmake")

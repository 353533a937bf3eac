# 64-bit RISC-V with Linux; programs run under qemu-user where this machine is none.
set(TENON_TARGET_TRIPLET riscv64-linux-gnu)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(TENON_QEMU_NAMES qemu-riscv64-static qemu-riscv64)
include("${CMAKE_CURRENT_LIST_DIR}/linux-cross.cmake")

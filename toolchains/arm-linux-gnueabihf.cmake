# 32-bit Arm with Linux; programs run under qemu-user where this machine is none.
set(TENON_TARGET_TRIPLET arm-linux-gnueabihf)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(TENON_QEMU_NAMES qemu-arm-static qemu-arm)
# What Debian's armhf says a processor has: VFPv3 with 16 registers, and no vectors. Nothing
# is linked that was compiled before GCC 7.1, whose calls differ.
set(TENON_TARGET_FLAGS "-march=armv7-a+fp -mfloat-abi=hard -Wno-psabi")
include("${CMAKE_CURRENT_LIST_DIR}/linux-cross.cmake")

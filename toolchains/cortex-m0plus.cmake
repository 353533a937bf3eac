# Arm Cortex-M0+, without floating point. QEMU has no board of that core with more than 16 KB of RAM:
# its code runs on Arm's MPS2 board with image AN385, whose Cortex-M3 has all of its instructions.
set(tenon_core cortex-m0plus)
set(tenon_core_flags "-mfloat-abi=soft")
set(tenon_machine mps2-an385)
include("${CMAKE_CURRENT_LIST_DIR}/cortex-m.cmake")

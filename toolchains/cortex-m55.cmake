# Arm Cortex-M55 with Helium and floating point; Arm's MPS3 board with image AN547 (Corstone-300).
set(tenon_core cortex-m55)
set(tenon_core_flags "-mfloat-abi=hard")
set(tenon_machine mps3-an547)
include("${CMAKE_CURRENT_LIST_DIR}/cortex-m.cmake")

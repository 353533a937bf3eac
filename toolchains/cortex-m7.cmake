# Arm Cortex-M7 with DSP instructions and double precision; Arm's MPS2 board with image AN500.
set(tenon_core cortex-m7)
set(tenon_core_flags "-mfpu=fpv5-d16 -mfloat-abi=hard")
set(tenon_machine mps2-an500)
include("${CMAKE_CURRENT_LIST_DIR}/cortex-m.cmake")

# Arm Cortex-M4 with DSP instructions and single precision; Arm's MPS2 board with image AN386.
set(tenon_core cortex-m4)
set(tenon_core_flags "-mfpu=fpv4-sp-d16 -mfloat-abi=hard")
set(tenon_machine mps2-an386)
include("${CMAKE_CURRENT_LIST_DIR}/cortex-m.cmake")

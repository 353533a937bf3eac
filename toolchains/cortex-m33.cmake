# Arm Cortex-M33 with DSP instructions and single precision; Arm's MPS2 board with image AN505.
set(tenon_core cortex-m33)
set(tenon_core_flags "-mfpu=fpv5-sp-d16 -mfloat-abi=hard")
set(tenon_machine mps2-an505)
include("${CMAKE_CURRENT_LIST_DIR}/cortex-m.cmake")

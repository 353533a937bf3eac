# tenon_fpga_model(NAME TOP top SOURCES files... [PARAMETERS NAME=VALUE...]): a configuration of the
# accelerator for the simulated board: its RTL compiled by Verilator, share/tenon/NAME.so of the board's
# folder, and the image that asks for it, share/tenon/NAME.xclbin. Gives the target fpga_model_NAME.
function(tenon_fpga_model name)
  cmake_parse_arguments(arg "" "TOP" "SOURCES;PARAMETERS;INCLUDES" ${ARGN})
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/verilated_${name}")
  set(archive "${folder}/Vaccelerator__ALL.a")
  list(TRANSFORM arg_PARAMETERS PREPEND "-G")
  list(TRANSFORM arg_INCLUDES PREPEND "-I")
  add_custom_command(
    OUTPUT "${archive}" "${folder}/Vaccelerator.h"
    COMMAND ${TENON_FPGA_VERILATOR} --cc --build -O3 --x-assign fast --x-initial fast -Wno-lint -Wno-fatal
      -Wno-SYMRSVDWORD
      --prefix Vaccelerator --top-module ${arg_TOP} -Mdir "${folder}" -CFLAGS -fPIC
      -MAKEFLAGS "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1"
      ${arg_PARAMETERS} ${arg_INCLUDES} ${arg_SOURCES}
    DEPENDS ${arg_SOURCES}
    COMMENT "Compiling the RTL of ${name} with Verilator"
    VERBATIM)
  set(image "${TENON_FPGA_SIM_ROOT}/share/tenon/${name}.xclbin")
  add_custom_command(
    OUTPUT "${image}"
    COMMAND tenon_fpga_xclbin ${name} "${image}"
    DEPENDS tenon_fpga_xclbin
    VERBATIM)
  add_library(fpga_model_${name} MODULE
    "${TENON_FPGA_SIM_SOURCE_DIR}/rtl_compute_unit.cpp" "${folder}/Vaccelerator.h" "${image}")
  target_include_directories(fpga_model_${name} SYSTEM PRIVATE "${folder}")
  target_link_libraries(fpga_model_${name}
    PRIVATE tenon_fpga_sim_parts tenon_flags tenon_verilated "${archive}")
  set_target_properties(fpga_model_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} CXX_STANDARD 17
    CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY "${TENON_FPGA_SIM_ROOT}/share/tenon")
  add_dependencies(fpga_model_${name} tenon_fpga_sim_board)
endfunction()

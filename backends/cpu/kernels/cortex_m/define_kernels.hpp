// Defines a set's kernels as constants under their link names (see docs/firmware.md).
#pragma once

#include "backends/cpu/kernels/cortex_m/kernels.hpp"
#include "runtime/ops/rows.hpp"

/// The kernel `id`, made of cortex_m::<op>Check and cortex_m::Run<op> with `routines`.
#define TENON_CORTEX_M_KERNEL(symbol, id, row, op, routines)       \
  extern "C" {                                                     \
  extern const KernelEntry symbol;                                 \
  const KernelEntry symbol = {id,                                  \
                              &row,                                \
                              cortex_m::op##Check,                 \
                              nullptr,                             \
                              nullptr,                             \
                              [](const KernelCall& call) {         \
                                cortex_m::Run##op(call, routines); \
                                return OkStatus();                 \
                              },                                   \
                              nullptr,                             \
                              nullptr,                             \
                              nullptr};                            \
  }                                                                \
  static_assert(true, "takes the semicolon")

/// All of them, and `TENON_CORTEX_M_LIST(set)`, their addresses, best first. `space` is where the
/// set's routines stand.
#define TENON_CORTEX_M_KERNELS(set, space)                                                     \
  TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_quantized_conv_##set##_depthwise,                     \
                        "cpu.quantized_conv." #set "_depthwise", kQuantizedConvRow, Depthwise, \
                        cortex_m::space::Depthwise());                                         \
  TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_quantized_conv_##set, "cpu.quantized_conv." #set,     \
                        kQuantizedConvRow, Conv, cortex_m::space::Products());                 \
  TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_quantized_matmul_##set, "cpu.quantized_matmul." #set, \
                        kQuantizedMatMulRow, MatMul, cortex_m::space::Products())

#define TENON_CORTEX_M_LIST(set)                                                              \
  &tenon_kernel_cpu_quantized_conv_##set##_depthwise, &tenon_kernel_cpu_quantized_conv_##set, \
      &tenon_kernel_cpu_quantized_matmul_##set

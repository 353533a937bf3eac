// Defines a set's kernels as constants under their link names (see docs/firmware.md).
#pragma once

#include "backends/cpu/caps/cortex_m_caps.hpp"
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

/// The same over its input.
#define TENON_CORTEX_M_IN_PLACE(symbol, id, op, routines)                   \
  extern "C" {                                                              \
  extern const KernelEntry symbol;                                          \
  const KernelEntry symbol = {id,                                           \
                              &kQuantizedConvRow,                           \
                              cortex_m::op##InPlaceCheck,                   \
                              nullptr,                                      \
                              nullptr,                                      \
                              [](const KernelCall& call) {                  \
                                cortex_m::Run##op##InPlace(call, routines); \
                                return OkStatus();                          \
                              },                                            \
                              nullptr,                                      \
                              nullptr,                                      \
                              nullptr,                                      \
                              nullptr,                                      \
                              1U << 0};                                     \
  }                                                                         \
  static_assert(true, "takes the semicolon")

/// All of them, and `TENON_CORTEX_M_LIST(set)`, their addresses, best first. `space` is where the
/// set's routines stand.
#define TENON_CORTEX_M_KERNELS(set, space)                                                     \
  TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_quantized_conv_##set##_depthwise,                     \
                        "cpu.quantized_conv." #set "_depthwise", kQuantizedConvRow, Depthwise, \
                        cortex_m::space::Depthwise());                                         \
  TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_quantized_conv_##set, "cpu.quantized_conv." #set,     \
                        kQuantizedConvRow, Conv, cortex_m::space::Gemms());                    \
  TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_quantized_matmul_##set, "cpu.quantized_matmul." #set, \
                        kQuantizedMatMulRow, MatMul, cortex_m::space::Gemms());                \
  TENON_CORTEX_M_IN_PLACE(tenon_kernel_cpu_quantized_conv_##set##_depthwise_in_place,          \
                          "cpu.quantized_conv." #set "_depthwise_in_place", Depthwise,         \
                          cortex_m::space::Depthwise());                                       \
  TENON_CORTEX_M_IN_PLACE(tenon_kernel_cpu_quantized_conv_##set##_in_place,                    \
                          "cpu.quantized_conv." #set "_in_place", Conv, cortex_m::space::Gemms())

#define TENON_CORTEX_M_LIST(set)                                                              \
  &tenon_kernel_cpu_quantized_conv_##set##_depthwise, &tenon_kernel_cpu_quantized_conv_##set, \
      &tenon_kernel_cpu_quantized_matmul_##set,                                               \
      &tenon_kernel_cpu_quantized_conv_##set##_depthwise_in_place,                            \
      &tenon_kernel_cpu_quantized_conv_##set##_in_place

/// As above: of elements and pools.
#define TENON_CORTEX_M_ELEMENT_KERNELS(set, space)                                                 \
  TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_quantized_binary_##set, "cpu.quantized_binary." #set,     \
                        kQuantizedBinaryRow, Binary, cortex_m::space::Binary());                   \
  TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_quantized_average_pool_##set,                             \
                        "cpu.quantized_average_pool." #set, kQuantizedAveragePoolRow, AveragePool, \
                        cortex_m::space::Pool());                                                  \
  TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_max_pool_##set, "cpu.max_pool." #set, kMaxPoolRow,        \
                        MaxPool, cortex_m::space::Pool());                                         \
  TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_lookup_##set, "cpu.lookup." #set, kLookupRow, Lookup,     \
                        cortex_m::space::Lookup())

#define TENON_CORTEX_M_ELEMENT_LIST(set)                                                    \
  &tenon_kernel_cpu_quantized_binary_##set, &tenon_kernel_cpu_quantized_average_pool_##set, \
      &tenon_kernel_cpu_max_pool_##set, &tenon_kernel_cpu_lookup_##set

// Compiled for every processor, so that what the kernels do is tested on each; only those that have
// the instructions gain by them.
#include <iterator>

#include "backends/cpu/caps/cortex_m_dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/cortex_m_table.hpp"
#include "backends/cpu/kernels/cortex_m/define_kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::cpu {

#define TENON_DSP_KERNEL(symbol, id, row, check, run, in_place)                         \
  extern "C" {                                                                          \
  extern const KernelEntry symbol;                                                      \
  const KernelEntry symbol = {id,      &row,    dsp::check, nullptr, nullptr, dsp::run, \
                              nullptr, nullptr, nullptr,    nullptr, in_place};         \
  }                                                                                     \
  static_assert(true, "takes the semicolon")

TENON_DSP_KERNEL(tenon_kernel_cpu_quantized_conv_dsp_depthwise, "cpu.quantized_conv.dsp_depthwise",
                 kQuantizedConvRow, DepthwiseCheck, DepthwiseRun, 0);
TENON_DSP_KERNEL(tenon_kernel_cpu_quantized_conv_dsp, "cpu.quantized_conv.dsp", kQuantizedConvRow,
                 ConvCheck, ConvRun, 0);
TENON_DSP_KERNEL(tenon_kernel_cpu_quantized_conv_dsp_depthwise_in_place,
                 "cpu.quantized_conv.dsp_depthwise_in_place", kQuantizedConvRow,
                 DepthwiseInPlaceCheck, DepthwiseRun, 1U << 0);
TENON_DSP_KERNEL(tenon_kernel_cpu_quantized_conv_dsp_in_place, "cpu.quantized_conv.dsp_in_place",
                 kQuantizedConvRow, ConvInPlaceCheck, ConvInPlaceRun, 1U << 0);
TENON_DSP_KERNEL(tenon_kernel_cpu_quantized_matmul_dsp, "cpu.quantized_matmul.dsp",
                 kQuantizedMatMulRow, MatMulCheck, MatMulRun, 0);

TENON_DSP_KERNEL(tenon_kernel_cpu_quantized_binary_dsp, "cpu.quantized_binary.dsp",
                 kQuantizedBinaryRow, BinaryCheck, BinaryRun, 0);
TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_quantized_average_pool_dsp, "cpu.quantized_average_pool.dsp",
                      kQuantizedAveragePoolRow, AveragePool, dsp::Pool());
TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_max_pool_dsp, "cpu.max_pool.dsp", kMaxPoolRow, MaxPool,
                      dsp::Pool());

namespace {

constexpr const KernelEntry* kKernels[] = {
    &tenon_kernel_cpu_quantized_conv_dsp_depthwise,
    &tenon_kernel_cpu_quantized_conv_dsp,
    &tenon_kernel_cpu_quantized_matmul_dsp,
    &tenon_kernel_cpu_quantized_binary_dsp,
    &tenon_kernel_cpu_quantized_average_pool_dsp,
    &tenon_kernel_cpu_max_pool_dsp,
    &tenon_kernel_cpu_quantized_conv_dsp_depthwise_in_place,
    &tenon_kernel_cpu_quantized_conv_dsp_in_place,
};

}  // namespace

KernelList DspKernels() { return {kKernels, std::size(kKernels)}; }

KernelList CortexMKernels() { return TENON_DSP_INSTRUCTIONS ? DspKernels() : KernelList{}; }

}  // namespace tenon::cpu

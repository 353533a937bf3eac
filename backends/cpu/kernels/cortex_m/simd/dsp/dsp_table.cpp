// Compiled for every processor, so that what the kernels do is tested on each; only those that have
// the instructions gain by them.
#include "backends/cpu/kernels/cortex_m/cortex_m_table.hpp"
#include "backends/cpu/kernels/cortex_m/define_kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/routines.hpp"

namespace tenon::cpu {

extern "C" {
extern const KernelEntry tenon_kernel_cpu_quantized_conv_dsp;
const KernelEntry tenon_kernel_cpu_quantized_conv_dsp = {"cpu.quantized_conv.dsp",
                                                         &kQuantizedConvRow,
                                                         dsp::ConvCheck,
                                                         nullptr,
                                                         nullptr,
                                                         dsp::ConvRun,
                                                         nullptr,
                                                         nullptr,
                                                         nullptr};
}
TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_quantized_conv_dsp_depthwise,
                      "cpu.quantized_conv.dsp_depthwise", kQuantizedConvRow, Depthwise,
                      cortex_m::dsp::Depthwise());
TENON_CORTEX_M_KERNEL(tenon_kernel_cpu_quantized_matmul_dsp, "cpu.quantized_matmul.dsp",
                      kQuantizedMatMulRow, MatMul, cortex_m::dsp::Products());

namespace {

constexpr const KernelEntry* kKernels[] = {TENON_CORTEX_M_LIST(dsp)};

}  // namespace

KernelList DspKernels() { return {kKernels, sizeof kKernels / sizeof *kKernels}; }

}  // namespace tenon::cpu

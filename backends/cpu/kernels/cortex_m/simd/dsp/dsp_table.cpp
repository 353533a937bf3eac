#include "backends/cpu/kernels/cortex_m/define_kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/routines.hpp"

namespace tenon::cpu {

TENON_CORTEX_M_KERNELS(dsp, dsp);

namespace {

constexpr const KernelEntry* kKernels[] = {TENON_CORTEX_M_LIST(dsp)};

}  // namespace

KernelList DspKernels();
KernelList DspKernels() { return {kKernels, sizeof kKernels / sizeof *kKernels}; }

}  // namespace tenon::cpu

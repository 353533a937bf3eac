#include "backends/cpu/kernels/cortex_m/cortex_m_table.hpp"

namespace tenon::cpu {

#if defined(__ARM_FEATURE_MVE)
KernelList HeliumKernels();  // simd/helium/helium_table.cpp
KernelList CortexMKernels() { return HeliumKernels(); }
KernelList DspKernels() { return {}; }
#elif defined(__ARM_FEATURE_DSP) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
KernelList CortexMKernels() { return DspKernels(); }
#else
KernelList CortexMKernels() { return {}; }
#endif

}  // namespace tenon::cpu

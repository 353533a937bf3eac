// This table is compiled for every processor, so that the kernels are tested on each; only
// processors with the instructions run them faster.
#include <iterator>

#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/caps/in_place_caps.hpp"
#include "backends/cpu/kernels/cortex_m/cortex_m_table.hpp"
#include "backends/cpu/kernels/cortex_m/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"
#include "backends/cpu/kernels/define_kernels.hpp"

namespace tenon::cpu {

using cortex_m::RunWith;

#define TENON_KERNEL(...) TENON_DEFINE_KERNEL(__VA_ARGS__)
#include "backends/cpu/caps/dsp.inc"
#undef TENON_KERNEL

KernelList DspKernels() {
#define TENON_KERNEL(...) TENON_KERNEL_ADDRESS(__VA_ARGS__)
  static constexpr const KernelEntry* kKernels[] = {
#include "backends/cpu/caps/dsp.inc"
  };
#undef TENON_KERNEL
  return {kKernels, std::size(kKernels)};
}

KernelList CortexMKernels() { return TENON_DSP_INSTRUCTIONS ? DspKernels() : KernelList{}; }

}  // namespace tenon::cpu

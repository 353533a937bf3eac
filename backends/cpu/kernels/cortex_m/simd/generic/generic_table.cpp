#include <iterator>

#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/caps/in_place_caps.hpp"
#include "backends/cpu/kernels/cortex_m/cortex_m_table.hpp"
#include "backends/cpu/kernels/cortex_m/generic_routines.hpp"
#include "backends/cpu/kernels/cortex_m/kernels.hpp"
#include "backends/cpu/kernels/define_kernels.hpp"

namespace tenon::cpu {

namespace routines = cortex_m::generic;
using cortex_m::RunWith;

#define TENON_CORTEX_M_SET(rest) cortex_m##rest
#define TENON_KERNEL(...) TENON_DEFINE_KERNEL(__VA_ARGS__)
#include "backends/cpu/caps/cortex_m.inc"
#undef TENON_KERNEL

KernelList CortexMGenericKernels() {
#define TENON_KERNEL(...) TENON_KERNEL_ADDRESS(__VA_ARGS__)
  static constexpr const KernelEntry* kKernels[] = {
#include "backends/cpu/caps/cortex_m.inc"
  };
#undef TENON_KERNEL
  return {kKernels, std::size(kKernels)};
}

}  // namespace tenon::cpu

#include <iterator>

#include "backends/cpu/kernels/cortex_m/cortex_m_table.hpp"
#include "backends/cpu/kernels/cortex_m/define_kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/helium/routines.hpp"

namespace tenon::cpu {

TENON_CORTEX_M_KERNELS(helium, helium);
TENON_CORTEX_M_ELEMENT_KERNELS(helium, helium);

namespace {

constexpr const KernelEntry* kKernels[] = {TENON_CORTEX_M_LIST(helium),
                                           TENON_CORTEX_M_ELEMENT_LIST(helium)};

}  // namespace

KernelList CortexMKernels() { return {kKernels, std::size(kKernels)}; }

KernelList DspKernels() { return {}; }

}  // namespace tenon::cpu

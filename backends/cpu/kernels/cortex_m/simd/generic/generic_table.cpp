#include <iterator>

#include "backends/cpu/kernels/cortex_m/cortex_m_table.hpp"
#include "backends/cpu/kernels/cortex_m/define_kernels.hpp"
#include "backends/cpu/kernels/cortex_m/generic_routines.hpp"

namespace tenon::cpu {

TENON_CORTEX_M_KERNELS(cortex_m, generic);
TENON_CORTEX_M_ELEMENT_KERNELS(cortex_m, generic);

namespace {

constexpr const KernelEntry* kKernels[] = {TENON_CORTEX_M_LIST(cortex_m),
                                           TENON_CORTEX_M_ELEMENT_LIST(cortex_m)};

}  // namespace

KernelList CortexMGenericKernels() { return {kKernels, std::size(kKernels)}; }

}  // namespace tenon::cpu

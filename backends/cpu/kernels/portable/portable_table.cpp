#include "backends/cpu/kernels/portable/portable_table.hpp"

#include <iterator>

#include "backends/cpu/caps/in_place_caps.hpp"
#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/define_kernels.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"

namespace tenon::cpu {

#define TENON_KERNEL(...) TENON_DEFINE_KERNEL(__VA_ARGS__)
#include "backends/cpu/caps/portable.inc"
#undef TENON_KERNEL

KernelList PortableKernels() {
#define TENON_KERNEL(...) TENON_KERNEL_ADDRESS(__VA_ARGS__)
  static constexpr const KernelEntry* kKernels[] = {
#include "backends/cpu/caps/portable.inc"
  };
#undef TENON_KERNEL
  return {kKernels, std::size(kKernels)};
}

}  // namespace tenon::cpu

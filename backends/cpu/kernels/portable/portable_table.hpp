// The portable kernels as one table, for hosts.
#pragma once

#include "runtime/backend_api/kernel.hpp"

namespace tenon::cpu {

/// One kernel per op, `cpu.<op>.portable`, in the order of OpKind; then those that work over their
/// input, `cpu.<op>.portable_in_place`. None uses load, open or heap.
[[nodiscard]] KernelList PortableKernels();

}  // namespace tenon::cpu

// Lists the portable kernels in one table, for hosts.
#pragma once

#include "runtime/backend_api/kernel.hpp"

namespace tenon::cpu {

/// Returns one kernel per op, `cpu.<op>.portable`, in the order of OpKind, and then those that
/// overwrite their input, `cpu.<op>.portable_in_place`. None uses load, open or heap.
[[nodiscard]] KernelList PortableKernels();

}  // namespace tenon::cpu

// The portable kernels as one table, for hosts. Each is also a constant of its own with a link
// name, `tenon_kernel_` and its id with underscores: firmware names those it needs (the converter
// writes that table), and the linker drops the rest.
#pragma once

#include "runtime/backend_api/kernel.hpp"

namespace tenon::cpu {

/// One kernel per op, `cpu.<op>.portable`, in the order of OpKind. None uses load, open or heap.
[[nodiscard]] KernelList PortableKernels();
/// Those that work in place, `cpu.<op>.portable_in_place`.
[[nodiscard]] KernelList PortableInPlaceKernels();

}  // namespace tenon::cpu

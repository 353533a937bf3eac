// The portable kernels as one table, for hosts. Firmware names the entries it needs itself (the
// converter writes that table), so that the linker drops the rest.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/span.hpp"

namespace tenon::cpu {

/// One kernel per op, `cpu.<op>.portable`, in the order of OpKind. None uses load, open or heap.
[[nodiscard]] Span<const KernelEntry> PortableKernels();

}  // namespace tenon::cpu

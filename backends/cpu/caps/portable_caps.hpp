// The portable kernels' rows of the CPU's capability table.
#pragma once

#include "backends/cpu/caps/cpu_caps.hpp"
#include "runtime/base/span.hpp"

namespace tenon::cpu {

/// One row per op in the order of OpKind: every portable kernel takes any strides and needs no
/// workspace.
[[nodiscard]] Span<const KernelCaps> PortableCaps();

}  // namespace tenon::cpu

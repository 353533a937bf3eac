// Every kernel of this backend, in order of priority.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/span.hpp"

namespace tenon::opencl {

/// Those of caps/kernels.inc.
[[nodiscard]] Span<const KernelEntry> KernelTable();

}  // namespace tenon::opencl

// Every kernel of this backend, in order of priority.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/span.hpp"

namespace tenon::opencl {

/// The same rows in the same order as Kernels() of caps/opencl_caps.hpp.
[[nodiscard]] Span<const KernelEntry> KernelTable();

}  // namespace tenon::opencl

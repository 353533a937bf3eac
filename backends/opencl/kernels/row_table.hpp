// The kernels of row_caps.hpp.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/span.hpp"

namespace tenon::opencl {

[[nodiscard]] Span<const KernelEntry> RowKernels();

}  // namespace tenon::opencl

// The rows of every kernel but convolutions and matrix products.
#pragma once

#include "runtime/base/span.hpp"
#include "runtime/ops/kernel_caps.hpp"

namespace tenon::opencl {

[[nodiscard]] Span<const KernelCaps> RowCaps();

}  // namespace tenon::opencl

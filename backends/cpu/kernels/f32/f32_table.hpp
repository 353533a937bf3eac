// The vector kernels' part of the CPU's kernel table.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/span.hpp"

namespace tenon::cpu {

/// In the order of VectorCaps.
[[nodiscard]] KernelList VectorKernels();

}  // namespace tenon::cpu

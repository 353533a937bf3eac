// The fast quantized kernels' part of the CPU's kernel table.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/span.hpp"

namespace tenon::cpu {

/// In the order of QuantizedCaps.
[[nodiscard]] KernelList QuantizedKernels();

}  // namespace tenon::cpu

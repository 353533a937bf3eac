// The kernels on bytes in the CPU's kernel table.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/span.hpp"

namespace tenon::cpu {

/// In the order of BytesCaps.
[[nodiscard]] KernelList BytesKernels();

}  // namespace tenon::cpu

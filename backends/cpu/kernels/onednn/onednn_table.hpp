// Lists oneDNN's kernels in one table: the CPU backend's has them with TENON_ONEDNN alone, and
// tests and benchmarks compare with them wherever the library is there.
#pragma once

#include "runtime/backend_api/kernel.hpp"

namespace tenon::cpu {

[[nodiscard]] KernelList OneDnnKernels();

}  // namespace tenon::cpu

// The list of the kernels' sources, which the build generates.
#pragma once

#include <cstddef>

#include "backends/opencl/codegen/programs.hpp"

namespace tenon::opencl {

extern const KernelSource kKernelSources[];
extern const size_t kKernelSourceCount;

}  // namespace tenon::opencl

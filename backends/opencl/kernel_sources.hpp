// The kernels' sources, embedded at build time.
#pragma once

#include <cstddef>

namespace tenon::opencl {

struct KernelSource {
  const char* file;  ///< "pool.cl"
  const char* text;
};

extern const KernelSource kKernelSources[];
extern const size_t kKernelSourceCount;

}  // namespace tenon::opencl

// What the OpenCL backend can run, as pure data and predicates: the converter chooses kernels by
// these, without OpenCL.
#pragma once

#include <cstddef>

#include "runtime/base/span.hpp"
#include "runtime/ops/kernel_caps.hpp"

namespace tenon::opencl {

/// Every kernel in order of priority. Ids read `opencl.op.implementation`.
[[nodiscard]] Span<const KernelCaps> Kernels();

/// The same, as the mapper takes it.
[[nodiscard]] BackendCaps OpenclCaps();

}  // namespace tenon::opencl

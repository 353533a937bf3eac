// What the OpenCL backend can run, as pure data and predicates: the converter chooses kernels by
// these, without OpenCL.
#pragma once

#include <cstddef>

#include "runtime/base/span.hpp"
#include "runtime/ops/kernel_caps.hpp"

namespace tenon::opencl {

/// Returns every kernel in order of priority. Ids have the form `opencl.op.implementation`.
[[nodiscard]] Span<const KernelCaps> Kernels();

/// Returns the kernels in the form that the mapper takes.
[[nodiscard]] BackendCaps OpenclCaps();

}  // namespace tenon::opencl

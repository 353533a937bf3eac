// The host's part of every kernel but convolutions and matrix products: what to load, and one
// execution. All take any strides unless said otherwise, and need no workspace.
#pragma once

#include "backends/opencl/kernel_support.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::opencl {

ProgramChoice UnaryChoice(const KernelSetup& setup);
Status UnaryRun(const KernelCall& call);

}  // namespace tenon::opencl

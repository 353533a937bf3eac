// The table of oneDNN kernels.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/span.hpp"

namespace tenon::cpu {

/// In the order of OnednnCaps().
[[nodiscard]] KernelList OnednnKernels();

}  // namespace tenon::cpu

// The table of oneDNN kernels.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/span.hpp"

namespace tenon::cpu {

/// In the order of OnednnCaps().
[[nodiscard]] Span<const KernelEntry> OnednnKernels();

}  // namespace tenon::cpu

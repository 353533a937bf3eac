// The CPU backend: it has portable kernels everywhere, and faster ones where this build and this
// processor have them.
#pragma once

#include "runtime/backend_api/backend.hpp"

namespace tenon::cpu {

/// Returns the backend with every kernel of this build, best first.
[[nodiscard]] const Backend& CpuBackend();

/// Returns the backend with the portable kernels alone, which run on the calling thread. Firmware
/// runs it, the converter folds constants with it, and the other kernels are tested against it.
[[nodiscard]] const Backend& CpuPortableBackend();

}  // namespace tenon::cpu

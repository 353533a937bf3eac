// The CPU backend: portable kernels everywhere, faster ones where this build and this processor
// have them.
#pragma once

#include "runtime/backend_api/backend.hpp"

namespace tenon::cpu {

/// Every kernel of this build, best first.
[[nodiscard]] const Backend& CpuBackend();

/// The portable kernels alone, on the calling thread: what firmware runs, and the reference that
/// the others are tested against. Also folds the converter's constants.
[[nodiscard]] const Backend& CpuPortableBackend();

}  // namespace tenon::cpu

// The Cortex-M kernels of every instruction set that this build has.
#pragma once

#include "runtime/backend_api/kernel.hpp"

namespace tenon::cpu {

/// With the routines in plain C++, `cpu.<op>.cortex_m`: for tests; no plan names them.
[[nodiscard]] KernelList CortexMGenericKernels();

/// `cpu.<op>.dsp`, on every processor but those with Helium, though only some have the
/// instructions.
[[nodiscard]] KernelList DspKernels();

/// Those of the processor that this is built for, best first; none on others.
[[nodiscard]] KernelList CortexMKernels();

}  // namespace tenon::cpu

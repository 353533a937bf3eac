// Lists the Cortex-M kernels of every instruction set that this build has.
#pragma once

#include "runtime/backend_api/kernel.hpp"

namespace tenon::cpu {

/// Returns the kernels with the routines in plain C++, `cpu.<op>.cortex_m`. They are for tests; no
/// plan names them.
[[nodiscard]] KernelList CortexMGenericKernels();

/// Returns `cpu.<op>.dsp`, on every processor but those with Helium, though only some have the
/// instructions.
[[nodiscard]] KernelList DspKernels();

/// Returns the kernels of the processor that this is built for, best first; none on others.
[[nodiscard]] KernelList CortexMKernels();

}  // namespace tenon::cpu

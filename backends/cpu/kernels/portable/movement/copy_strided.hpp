// The one routine behind every op that only moves elements.
#pragma once

#include "backends/cpu/kernels/portable/strided.hpp"

namespace tenon::cpu::portable {

/// Copies the elements of `nest` (operand 0: `to`, operand 1: `from`; not yet simplified) of
/// `element_bytes` bytes each (1, 2, 4 or 8). `to` and `from` may be the same memory only with the
/// same strides (then nothing is done), and may not overlap otherwise. Source strides may be 0.
void CopyStrided(LoopNest<2> nest, int element_bytes, void* to, const void* from,
                 const ParallelRunner* parallel);

/// Copies `from` to `to`, which has the same dtype and dims.
void CopyView(const TensorView& to, const TensorView& from, const ParallelRunner* parallel);

}  // namespace tenon::cpu::portable

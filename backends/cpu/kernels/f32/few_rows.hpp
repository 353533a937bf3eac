// Products of a few rows by large weights that lie where the plan has them.
#pragma once

#include "backends/cpu/kernels/f32/tile_gemm.hpp"

namespace tenon::cpu::f32 {

/// Returns true if the execution has so few rows, and its weights are so large and lie in such an
/// order, that RunFewRows is faster than tiles.
[[nodiscard]] bool HasFewRows(const TileGemm& gemm, const float* residual);

/// Computes the execution. Its results do not depend on the number of threads.
void RunFewRows(const TileGemm& gemm, const float* x, float* y, const ParallelRunner* parallel);

}  // namespace tenon::cpu::f32

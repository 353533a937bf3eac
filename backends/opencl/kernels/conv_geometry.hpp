// From a convolution's operands to the numbers that its kernels take.
#pragma once

#include <cstdint>

#include "backends/opencl/kernels/tile.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::opencl {

/// Weights and bias of a convolution as groups of matrices.
[[nodiscard]] MatrixView ConvMatrix(const OpCall& conv);

/// The parameters of a convolution by tiles of this shape, but for `tiles_per_item`.
[[nodiscard]] TileParameters ConvParameters(const OpCall& conv, const TileShape& shape);

/// Makes the parameters those of gemm_tile, if the convolution is one: a single tap without
/// padding, whose pixels lie at equal distances in every operand. Gives whether it is.
bool MakeGemm(TileParameters& parameters);

}  // namespace tenon::opencl

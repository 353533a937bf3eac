// Computes from a convolution's operands the numbers that its kernels take.
#pragma once

#include <cstdint>
#include <string>

#include "backends/opencl/codegen/tile_parameters.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::opencl {

/// Returns weights and bias of a convolution as groups of matrices.
[[nodiscard]] MatrixView ConvMatrix(const OpCall& conv);

/// Returns the parameters of a convolution by tiles of this shape, without `tiles_per_item`.
[[nodiscard]] TileParameters ConvParameters(const OpCall& conv, const TileShape& shape);

/// Makes the parameters those of gemm_tile, if the convolution is a GEMM: a single tap without
/// padding, whose pixels have equal distances in every operand. Returns whether it is.
bool MakeGemm(TileParameters& parameters);

/// Returns true if the channels of a convolution's input are not neighbours in memory.
[[nodiscard]] bool HasScatteredChannels(const TensorView& x);

/// Returns the options of conv_depthwise.cl for a depthwise convolution.
[[nodiscard]] std::string DepthwiseOptions(const OpCall& conv);

}  // namespace tenon::opencl

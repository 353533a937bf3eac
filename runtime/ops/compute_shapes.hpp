// Shape rules of the ops that compute, shared by their float and quantized forms: an op whose
// attributes begin with the float op's struct has its shapes.
#pragma once

#include "runtime/ops/op_row.hpp"

namespace tenon {

/// Of ConvAttributes, inputs 0 and 1. Checks ranks, channels, groups and windows.
Status InferConvShape(const OpCall& call, Shape* y);

/// Of MatMulAttributes, inputs 0 and 1.
Status InferMatMulShape(const OpCall& call, Shape* y);

/// Of PoolAttributes.
Status InferPoolShape(const OpCall& call, Shape* y);

/// Of ReduceAttributes.
Status InferReduceShape(const OpCall& call, Shape* y);

}  // namespace tenon

// What the shape rules of float products (convolution, matrix product) share: weights, and the
// input of a first layer, may be stored in fewer bits than the op computes in.
#pragma once

#include <cstdint>

#include "runtime/ops/op_row.hpp"

namespace tenon {

/// Which inputs say how operands are stored; -1: the op has no such input.
struct StorageInputs {
  int w_scale = -1;
  int x_mean = -1;
  int32_t outputs = 0;   ///< elements of w_scale
  int32_t channels = 0;  ///< elements of x_mean
};

/// Checks the dtypes of a GEMM's operands, of which 0 is x, 1 the weights, and others before
/// `w_scale` are plain. Either all are alike and f32, f16 or f64; or the op computes in f32 and
///   - the weights are f16, or i8 with a `w_scale`,
///   - x is u8 with an `x_mean`.
/// `computes_in` becomes the dtype of the output.
Status CheckGemmDTypes(const OpCall& call, const StorageInputs& storage, DType* computes_in);

}  // namespace tenon

// Kinds that are alike whatever their elements are: of each, the attributes begin with the float
// op's struct.
#pragma once

#include "runtime/ops/op_kind.hpp"

namespace tenon::converter {

/// Attributes begin with ConvAttributes; input 0 is x, 1 the weights, what follows is per channel.
[[nodiscard]] constexpr bool IsConvolution(OpKind kind) {
  return kind == OpKind::kConv || kind == OpKind::kQuantizedConv;
}

/// Attributes begin with MatMulAttributes.
[[nodiscard]] constexpr bool IsMatrixProduct(OpKind kind) {
  return kind == OpKind::kMatMul || kind == OpKind::kQuantizedMatMul;
}

/// Attributes begin with PoolAttributes.
[[nodiscard]] constexpr bool IsPool(OpKind kind) {
  return kind == OpKind::kMaxPool || kind == OpKind::kAveragePool ||
         kind == OpKind::kQuantizedAveragePool;
}

}  // namespace tenon::converter

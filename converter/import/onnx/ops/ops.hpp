// The lowering functions, by family. Which operator each one serves stands in lowering_table.cpp;
// differences between versions of an operator are dealt with inside.
#pragma once

#include <vector>

#include "converter/import/onnx/lowering.hpp"

namespace tenon::converter {

// conv.cpp
Status LowerConv(Lowering& node);

// gemm_matmul.cpp
Status LowerGemm(Lowering& node);
Status LowerMatMul(Lowering& node);

// pool.cpp
Status LowerMaxPool(Lowering& node);
Status LowerAveragePool(Lowering& node);
Status LowerGlobalPool(Lowering& node);

// normalisation.cpp
Status LowerBatchNormalization(Lowering& node);
Status LowerInstanceNormalization(Lowering& node);
Status LowerLayerNormalization(Lowering& node);
Status LowerMeanVarianceNormalization(Lowering& node);
Status LowerLpNormalization(Lowering& node);
Status LowerLrn(Lowering& node);
Status LowerSoftmax(Lowering& node);

// activation.cpp
Status LowerUnary(Lowering& node);
Status LowerClip(Lowering& node);
Status LowerPRelu(Lowering& node);
Status LowerThresholdedRelu(Lowering& node);
Status LowerCelu(Lowering& node);
Status LowerGelu(Lowering& node);
Status LowerCast(Lowering& node);

// elementwise.cpp
Status LowerBinary(Lowering& node);
Status LowerPow(Lowering& node);
Status LowerMod(Lowering& node);
Status LowerVariadic(Lowering& node);
Status LowerWhere(Lowering& node);

// reduce.cpp
Status LowerReduce(Lowering& node);

// shape_ops.cpp
Status LowerIdentity(Lowering& node);
Status LowerDropout(Lowering& node);
Status LowerReshape(Lowering& node);
Status LowerFlatten(Lowering& node);
Status LowerSqueeze(Lowering& node);
Status LowerUnsqueeze(Lowering& node);
Status LowerTranspose(Lowering& node);
Status LowerExpand(Lowering& node);
Status LowerTile(Lowering& node);
Status LowerDepthToSpace(Lowering& node);
Status LowerSpaceToDepth(Lowering& node);

// slicing.cpp
Status LowerSlice(Lowering& node);
Status LowerSplit(Lowering& node);
Status LowerGather(Lowering& node);
Status LowerConcat(Lowering& node);
Status LowerPad(Lowering& node);

// resize.cpp
Status LowerResize(Lowering& node);
Status LowerUpsample(Lowering& node);

// quantization.cpp
Status LowerQuantizeLinear(Lowering& node);
Status LowerDequantizeLinear(Lowering& node);
Status LowerDynamicQuantizeLinear(Lowering& node);

// quantized_products.cpp
Status LowerQLinearConv(Lowering& node);
Status LowerQLinearMatMul(Lowering& node);
Status LowerConvInteger(Lowering& node);
Status LowerMatMulInteger(Lowering& node);
Status LowerQGemm(Lowering& node);
Status LowerMatMulIntegerToFloat(Lowering& node);
Status LowerDynamicQuantizeMatMul(Lowering& node);

// quantized_ops.cpp
Status LowerQLinearBinary(Lowering& node);
Status LowerQLinearUnary(Lowering& node);
Status LowerQLinearAveragePool(Lowering& node);
Status LowerQLinearGlobalAveragePool(Lowering& node);
Status LowerQLinearConcat(Lowering& node);
Status LowerQLinearReduceMean(Lowering& node);
Status LowerQLinearSoftmax(Lowering& node);

// constants.cpp
Status LowerConstant(Lowering& node);
Status LowerConstantOfShape(Lowering& node);
Status LowerShape(Lowering& node);
Status LowerSize(Lowering& node);
Status LowerRange(Lowering& node);

// What the lowerings of matrix products share.

/// NumPy's matmul of the first two inputs with `kind` (matmul or quantized_matmul, untransposed): a
/// vector on the left is a row, on the right a column, and the dimension that this adds is dropped
/// from the result. `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> EmitProduct(Lowering& node, OpKind kind,
                                           std::vector<TensorId> inputs,
                                           const Attributes& attributes,
                                           int output = kIntermediate);

/// a b + input `bias` (f32; may be absent) of the node, as its first output.
[[nodiscard]] Status EmitProductWithBias(Lowering& node, TensorId a, TensorId b, int bias);

// Softmax as its versions have it, for the operators that contain one.

/// Softmax, or its logarithm, of `x` along the node's attribute `axis`. With `flattens`, as before
/// opset 13, x is seen as a matrix: the dimensions before `axis` (default 1) are rows, all others
/// together are columns. `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> EmitSoftmax(Lowering& node, TensorId x, bool flattens, bool log,
                                           int output = kIntermediate);

}  // namespace tenon::converter

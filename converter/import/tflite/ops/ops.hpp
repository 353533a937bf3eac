// Lowering functions, one per operator or family of operators. Each reads its node's options and
// inputs and sets its outputs.
#pragma once

#include "converter/import/tflite/node.hpp"

namespace tenon::converter::tflite {

/// Of windows, strides and padding, as attributes.hpp says.
constexpr int32_t kMostExtent = 1 << 28;

// arithmetic.cpp
[[nodiscard]] Status LowerBinary(Node& node);
[[nodiscard]] Status LowerNotEqual(Node& node);
[[nodiscard]] Status LowerFloorDiv(Node& node);
[[nodiscard]] Status LowerAtan2(Node& node);
[[nodiscard]] Status LowerCompare(Node& node);  ///< STABLEHLO_COMPARE
[[nodiscard]] Status LowerSquaredDifference(Node& node);
[[nodiscard]] Status LowerSelect(Node& node);
[[nodiscard]] Status LowerAddN(Node& node);

// quantized_arithmetic.cpp
[[nodiscard]] Status LowerQuantizedSum(Node& node);  ///< ADD and SUB
[[nodiscard]] Status LowerQuantizedMul(Node& node);
[[nodiscard]] Status LowerQuantizedExtremum(Node& node);
[[nodiscard]] Status LowerQuantizedPrelu(Node& node);

// functions.cpp
[[nodiscard]] Status LowerUnary(Node& node);
[[nodiscard]] Status LowerRsqrt(Node& node);
[[nodiscard]] Status LowerSquare(Node& node);
[[nodiscard]] Status LowerGelu(Node& node);
[[nodiscard]] Status LowerBucketize(Node& node);

// quantized_functions.cpp
[[nodiscard]] Status LowerQuantizedFunction(Node& node);

// conversion.cpp
[[nodiscard]] Status LowerCast(Node& node);
[[nodiscard]] Status LowerQuantize(Node& node);
[[nodiscard]] Status LowerDequantize(Node& node);
[[nodiscard]] Status LowerDensify(Node& node);

// complex.cpp
[[nodiscard]] Status LowerComplex(Node& node);  ///< whatever reads or makes complex numbers

// window.cpp
[[nodiscard]] Status LowerConv(Node& node);

// volume.cpp
[[nodiscard]] Status LowerVolumeConv(Node& node);

// stablehlo_windows.cpp
[[nodiscard]] Status LowerGeneralConv(Node& node);   ///< STABLEHLO_CONVOLUTION
[[nodiscard]] Status LowerReduceWindow(Node& node);  ///< STABLEHLO_REDUCE_WINDOW

// conv_transpose.cpp
[[nodiscard]] Status LowerTransposeConv(Node& node);
[[nodiscard]] Status LowerBiasedTransposeConv(Node& node);
[[nodiscard]] Status LowerQuantizedTransposeConv(Node& node);
[[nodiscard]] Status LowerVolumeTransposeConv(Node& node);

// fully_connected.cpp
[[nodiscard]] Status LowerFullyConnected(Node& node);
[[nodiscard]] Status LowerBatchMatMul(Node& node);

// quantized_gemm.cpp
[[nodiscard]] Status LowerQuantizedConv(Node& node);
[[nodiscard]] Status LowerQuantizedFullyConnected(Node& node);
[[nodiscard]] Status LowerQuantizedBatchMatMul(Node& node);

// pool.cpp
[[nodiscard]] Status LowerPool(Node& node);
[[nodiscard]] Status LowerQuantizedPool(Node& node);

// reduce.cpp
[[nodiscard]] Status LowerReduce(Node& node);
[[nodiscard]] Status LowerQuantizedSumOrMean(Node& node);
[[nodiscard]] Status LowerReduceBools(Node& node);  ///< REDUCE_ANY and REDUCE_ALL
[[nodiscard]] Status LowerCumSum(Node& node);

// normalisation.cpp
[[nodiscard]] Status LowerSoftmax(Node& node);
[[nodiscard]] Status LowerQuantizedSoftmax(Node& node);
[[nodiscard]] Status LowerL2Normalization(Node& node);
[[nodiscard]] Status LowerLocalResponse(Node& node);

// concat.cpp
[[nodiscard]] Status LowerConcatenation(Node& node);
[[nodiscard]] Status LowerQuantizedConcatenation(Node& node);
[[nodiscard]] Status LowerPack(Node& node);

// pad.cpp
[[nodiscard]] Status LowerPad(Node& node);
[[nodiscard]] Status LowerMirrorPad(Node& node);

// slice.cpp
[[nodiscard]] Status LowerSlice(Node& node);
[[nodiscard]] Status LowerStridedSlice(Node& node);
[[nodiscard]] Status LowerSplit(Node& node);
[[nodiscard]] Status LowerUnpack(Node& node);
[[nodiscard]] Status LowerReverse(Node& node);

// gather.cpp
[[nodiscard]] Status LowerGather(Node& node);
[[nodiscard]] Status LowerReverseSequence(Node& node);

// segments.cpp
[[nodiscard]] Status LowerSegments(Node& node);

// diagonals.cpp
[[nodiscard]] Status LowerMatrixDiag(Node& node);
[[nodiscard]] Status LowerMatrixSetDiag(Node& node);

// scatter.cpp
[[nodiscard]] Status LowerGeneralScatter(Node& node);  ///< STABLEHLO_SCATTER
[[nodiscard]] Status LowerDynamicUpdateSlice(Node& node);

// indexing.cpp
[[nodiscard]] Status LowerGatherNd(Node& node);
[[nodiscard]] Status LowerScatterNd(Node& node);
[[nodiscard]] Status LowerEmbeddingLookup(Node& node);

// detection.cpp
[[nodiscard]] Status LowerDetectionPostProcess(Node& node);

// lstm.cpp
[[nodiscard]] Status LowerSequenceLstm(Node& node);
[[nodiscard]] Status LowerQuantizedSequenceLstm(Node& node);  ///< quantized_lstm.cpp
[[nodiscard]] Status LowerBidirectionalLstm(Node& node);

// recurrent.cpp
[[nodiscard]] Status LowerRnn(Node& node);
[[nodiscard]] Status LowerSequenceRnn(Node& node);
[[nodiscard]] Status LowerBidirectionalRnn(Node& node);

// svdf.cpp
[[nodiscard]] Status LowerSvdf(Node& node);
[[nodiscard]] Status LowerQuantizedSvdf(Node& node);  ///< quantized_svdf.cpp

// control_flow.cpp
[[nodiscard]] Status LowerIf(Node& node);
[[nodiscard]] Status LowerWhile(Node& node);
[[nodiscard]] Status LowerComposite(Node& node);

// suppression.cpp
[[nodiscard]] Status LowerNonMaxSuppression(Node& node);  ///< _V4 and _V5

// selection.cpp
[[nodiscard]] Status LowerArgExtremum(Node& node);
[[nodiscard]] Status LowerTopK(Node& node);
[[nodiscard]] Status LowerOneHot(Node& node);
[[nodiscard]] Status LowerSort(Node& node);

// space_batch.cpp
[[nodiscard]] Status LowerSpaceToBatch(Node& node);
[[nodiscard]] Status LowerBatchToSpace(Node& node);

// shape_ops.cpp
[[nodiscard]] Status LowerReshape(Node& node);  ///< RESHAPE, SQUEEZE and EXPAND_DIMS
/// The dims that these three give a tensor of dims `x`.
[[nodiscard]] Result<std::vector<int64_t>> NewDims(Node& node, const Shape& x);
[[nodiscard]] Status LowerTranspose(Node& node);
[[nodiscard]] Status LowerTile(Node& node);
[[nodiscard]] Status LowerBroadcastTo(Node& node);
[[nodiscard]] Status LowerShape(Node& node);
[[nodiscard]] Status LowerRank(Node& node);
[[nodiscard]] Status LowerRange(Node& node);
[[nodiscard]] Status LowerZerosLike(Node& node);
[[nodiscard]] Status LowerFill(Node& node);
[[nodiscard]] Status LowerSpaceToDepth(Node& node);
[[nodiscard]] Status LowerDepthToSpace(Node& node);

// resize.cpp
[[nodiscard]] Status LowerResize(Node& node);

// What matrix products in floats and in integers share.

/// A FULLY_CONNECTED node: x of [rows, K] times w of [N, K], and the dims that the product gets.
struct FullyConnectedNode {
  TensorId x = kNone;
  TensorId w = kNone;
  std::vector<int64_t> dims;
  format::ActivationFunctionType activation;
};

[[nodiscard]] Result<FullyConnectedNode> ReadFullyConnected(Node& node);

[[nodiscard]] MatMulAttributes BatchMatMulAttributes(const Node& node);

}  // namespace tenon::converter::tflite

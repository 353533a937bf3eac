#include "converter/import/tflite/lowering_table.hpp"

#include <algorithm>
#include <iterator>

#include "converter/import/operator_list.hpp"
#include "converter/import/tflite/model_file.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Op = format::BuiltinOperator;
constexpr Integers kInFloats = Integers::kInFloats;
constexpr Integers kMoved = Integers::kMoved;
constexpr Integers kTaken = Integers::kTaken;
constexpr Integers kCompared = Integers::kCompared;
constexpr Integers kExact = Integers::kExact;
constexpr Integers kExactWide = Integers::kExactWide;

// In the order of the operators' names.
constexpr LoweringRow kRows[] = {
    {Op::ABS, LowerUnary, kExact, LowerQuantizedFunction},
    {Op::ADD, LowerBinary, kExact, LowerQuantizedSum},
    {Op::ADD_N, LowerAddN, kInFloats},
    {Op::ARG_MAX, LowerArgExtremum, kExact, LowerArgExtremum},
    {Op::ARG_MIN, LowerArgExtremum, kExact, LowerArgExtremum},
    {Op::ATAN2, LowerAtan2, kInFloats},
    {Op::AVERAGE_POOL_2D, LowerPool, kExactWide, LowerQuantizedPool},
    {Op::BATCH_MATMUL, LowerBatchMatMul, kExact, LowerQuantizedBatchMatMul},
    {Op::BATCH_TO_SPACE_ND, LowerBatchToSpace, kMoved, nullptr, "one or two spatial dimensions"},
    {Op::BIDIRECTIONAL_SEQUENCE_LSTM, LowerBidirectionalLstm, kInFloats, nullptr,
     "up to 4096 steps, which become ops of their own; states of floats"},
    {Op::BIDIRECTIONAL_SEQUENCE_RNN, LowerBidirectionalRnn, kInFloats, nullptr,
     "up to 4096 steps, which become ops of their own"},
    {Op::BROADCAST_TO, LowerBroadcastTo, kMoved},
    {Op::BUCKETIZE, LowerBucketize, kInFloats},
    {Op::CAST, LowerCast, kTaken},
    {Op::CEIL, LowerUnary, kInFloats},
    {Op::COMPLEX_ABS, LowerComplex, kInFloats},
    {Op::CONCATENATION, LowerConcatenation, kExactWide, LowerQuantizedConcatenation},
    {Op::CONV_2D, LowerConv, kExact, LowerQuantizedConv},
    {Op::CONV_3D, LowerVolumeConv, kInFloats},
    {Op::CONV_3D_TRANSPOSE, LowerVolumeTransposeConv, kInFloats},
    {Op::COS, LowerUnary, kInFloats},
    {Op::CUMSUM, LowerCumSum, kInFloats},
    {Op::CUSTOM, LowerDetectionPostProcess, kInFloats, nullptr,
     "one image; max_classes_per_detection 1; zeros where nothing is",
     "TFLite_Detection_PostProcess"},
    {Op::CUSTOM, LowerBiasedTransposeConv, kInFloats, nullptr, "", "Convolution2DTransposeBias"},
    {Op::DENSIFY, LowerDensify, kMoved},
    {Op::DEPTHWISE_CONV_2D, LowerConv, kExact, LowerQuantizedConv},
    {Op::DEPTH_TO_SPACE, LowerDepthToSpace, kMoved},
    {Op::DEQUANTIZE, LowerDequantize, kExactWide, LowerDequantize},
    {Op::DIV, LowerBinary, kInFloats},
    {Op::DYNAMIC_UPDATE_SLICE, LowerDynamicUpdateSlice, kMoved},
    {Op::ELU, LowerUnary, kExact, LowerQuantizedFunction},
    {Op::EMBEDDING_LOOKUP, LowerEmbeddingLookup, kMoved},
    {Op::EQUAL, LowerBinary, kInFloats},
    {Op::EXP, LowerUnary, kExact, LowerQuantizedFunction},
    {Op::EXPAND_DIMS, LowerReshape, kMoved},
    {Op::FILL, LowerFill, kMoved},
    {Op::FLOOR, LowerUnary, kInFloats},
    {Op::FLOOR_DIV, LowerFloorDiv, kTaken},
    {Op::FLOOR_MOD, LowerBinary, kTaken},
    {Op::FULLY_CONNECTED, LowerFullyConnected, kExact, LowerQuantizedFullyConnected},
    {Op::GATHER, LowerGather, kMoved},
    {Op::GATHER_ND, LowerGatherNd, kMoved},
    {Op::GELU, LowerGelu, kExact, LowerQuantizedFunction},
    {Op::GREATER, LowerBinary, kInFloats},
    {Op::GREATER_EQUAL, LowerBinary, kInFloats},
    {Op::HARD_SWISH, LowerUnary, kExact, LowerQuantizedFunction},
    {Op::IF, LowerIf, kExact, LowerIf,
     "its condition known at conversion, or branches of the same shapes, both in the plan; no "
     "variables inside"},
    {Op::IMAG, LowerComplex, kInFloats},
    {Op::L2_NORMALIZATION, LowerL2Normalization, kInFloats},
    {Op::LEAKY_RELU, LowerUnary, kExact, LowerQuantizedFunction},
    {Op::LESS, LowerBinary, kInFloats},
    {Op::LESS_EQUAL, LowerBinary, kInFloats},
    {Op::LOCAL_RESPONSE_NORMALIZATION, LowerLocalResponse, kInFloats},
    {Op::LOG, LowerUnary, kExact, LowerQuantizedFunction},
    {Op::LOGICAL_AND, LowerBinary, kMoved},
    {Op::LOGICAL_NOT, LowerUnary, kMoved},
    {Op::LOGICAL_OR, LowerBinary, kMoved},
    {Op::LOGISTIC, LowerUnary, kExact, LowerQuantizedFunction},
    {Op::LOG_SOFTMAX, LowerSoftmax, kInFloats},
    {Op::MATRIX_DIAG, LowerMatrixDiag, kTaken},
    {Op::MATRIX_SET_DIAG, LowerMatrixSetDiag, kMoved},
    {Op::MAXIMUM, LowerBinary, kExact, LowerQuantizedExtremum},
    {Op::MAX_POOL_2D, LowerPool, kExactWide, LowerQuantizedPool},
    {Op::MEAN, LowerReduce, kExact, LowerQuantizedSumOrMean},
    {Op::MINIMUM, LowerBinary, kExact, LowerQuantizedExtremum},
    {Op::MIRROR_PAD, LowerMirrorPad, kMoved},
    {Op::MUL, LowerBinary, kExact, LowerQuantizedMul},
    {Op::NEG, LowerUnary, kTaken},
    {Op::NON_MAX_SUPPRESSION_V4, LowerNonMaxSuppression, kInFloats, nullptr,
     "how many boxes and both bounds constant"},
    {Op::NON_MAX_SUPPRESSION_V5, LowerNonMaxSuppression, kInFloats, nullptr,
     "how many boxes and both bounds constant; sigma 0"},
    {Op::NOT_EQUAL, LowerNotEqual, kInFloats},
    {Op::ONE_HOT, LowerOneHot, kMoved, nullptr, "depth constant"},
    {Op::PACK, LowerPack, kMoved},
    {Op::PAD, LowerPad, kMoved},
    {Op::PADV2, LowerPad, kMoved},
    {Op::POW, LowerBinary, kInFloats},
    {Op::PRELU, LowerBinary, kExact, LowerQuantizedPrelu},
    {Op::QUANTIZE, LowerQuantize, kExact, LowerQuantize},
    {Op::RANGE, LowerRange, kMoved, nullptr, "ends and step constant"},
    {Op::RANK, LowerRank, kMoved},
    {Op::REAL, LowerComplex, kInFloats},
    {Op::REDUCE_ALL, LowerReduceBools, kMoved},
    {Op::REDUCE_ANY, LowerReduceBools, kMoved},
    {Op::REDUCE_MAX, LowerReduce, kCompared},
    {Op::REDUCE_MIN, LowerReduce, kCompared},
    {Op::REDUCE_PROD, LowerReduce, kInFloats},
    {Op::RELU, LowerUnary, kExact, LowerQuantizedFunction},
    {Op::RELU6, LowerUnary, kExact, LowerQuantizedFunction},
    {Op::RELU_0_TO_1, LowerUnary, kExact, LowerQuantizedFunction},
    {Op::RELU_N1_TO_1, LowerUnary, kExact, LowerQuantizedFunction},
    {Op::RESHAPE, LowerReshape, kMoved},
    {Op::RESIZE_BILINEAR, LowerResize, kInFloats},
    {Op::RESIZE_NEAREST_NEIGHBOR, LowerResize, kMoved},
    {Op::REVERSE_SEQUENCE, LowerReverseSequence, kMoved},
    {Op::REVERSE_V2, LowerReverse, kMoved},
    {Op::RFFT2D, LowerComplex, kInFloats, nullptr,
     "up to 8192 points; fft_length constant; complex numbers only to REAL, IMAG, COMPLEX_ABS, "
     "RESHAPE, SQUEEZE, EXPAND_DIMS"},
    {Op::RNN, LowerRnn},
    {Op::ROUND, LowerUnary, kInFloats},
    {Op::RSQRT, LowerRsqrt, kInFloats},
    {Op::SCATTER_ND, LowerScatterNd, kTaken, nullptr, "shape constant"},
    {Op::SEGMENT_SUM, LowerSegments, kInFloats, nullptr, "segment_ids constant"},
    {Op::SELECT, LowerSelect, kMoved},
    {Op::SELECT_V2, LowerSelect, kMoved},
    {Op::SHAPE, LowerShape, kMoved},
    {Op::SIGN, LowerUnary, kInFloats},
    {Op::SIN, LowerUnary, kInFloats},
    {Op::SLICE, LowerSlice, kMoved},
    {Op::SOFTMAX, LowerSoftmax, kExact, LowerQuantizedSoftmax},
    {Op::SPACE_TO_BATCH_ND, LowerSpaceToBatch, kMoved, nullptr, "one or two spatial dimensions"},
    {Op::SPACE_TO_DEPTH, LowerSpaceToDepth, kMoved},
    {Op::SPLIT, LowerSplit, kMoved},
    {Op::SPLIT_V, LowerSplit, kMoved},
    {Op::SQRT, LowerUnary, kInFloats},
    {Op::SQUARE, LowerSquare, kInFloats},
    {Op::SQUARED_DIFFERENCE, LowerSquaredDifference, kInFloats},
    {Op::SQUEEZE, LowerReshape, kMoved},
    {Op::STABLEHLO_COMPARE, LowerCompare, kInFloats},
    {Op::STABLEHLO_COMPOSITE, LowerComposite, kExact, LowerComposite, "as its decomposition"},
    {Op::STABLEHLO_CONVOLUTION, LowerGeneralConv, kInFloats, nullptr,
     "one to three spatial dimensions; strides of the window or of the input; batch_group_count 1"},
    {Op::STABLEHLO_REDUCE_WINDOW, LowerReduceWindow, kInFloats, nullptr,
     "one input; its body ADD, MAXIMUM or MINIMUM; base_dilations 1"},
    {Op::STABLEHLO_SCATTER, LowerGeneralScatter, kInFloats, nullptr,
     "one input; its body empty, ADD, MUL, MAXIMUM or MINIMUM; an update outside is an error when "
     "it runs"},
    {Op::STABLEHLO_SORT, LowerSort, kInFloats, nullptr, "its comparator one comparison"},
    {Op::STRIDED_SLICE, LowerStridedSlice, kMoved},
    {Op::SUB, LowerBinary, kExact, LowerQuantizedSum},
    {Op::SUM, LowerReduce, kExact, LowerQuantizedSumOrMean},
    {Op::SVDF, LowerSvdf, kExactWide, LowerQuantizedSvdf, "its state f32 or i16"},
    {Op::TANH, LowerUnary, kExact, LowerQuantizedFunction},
    {Op::TILE, LowerTile, kMoved},
    {Op::TOPK_V2, LowerTopK, kMoved, nullptr, "K constant"},
    {Op::TRANSPOSE, LowerTranspose, kMoved},
    {Op::TRANSPOSE_CONV, LowerTransposeConv, kExact, LowerQuantizedTransposeConv},
    {Op::UNIDIRECTIONAL_SEQUENCE_LSTM, LowerSequenceLstm, kExactWide, LowerQuantizedSequenceLstm,
     "up to 4096 steps, which become ops of their own; without normalisation of the gates; its "
     "cell "
     "f32 or i16"},
    {Op::UNIDIRECTIONAL_SEQUENCE_RNN, LowerSequenceRnn, kInFloats, nullptr,
     "up to 4096 steps, which become ops of their own"},
    {Op::UNPACK, LowerUnpack, kMoved},
    {Op::UNSORTED_SEGMENT_MAX, LowerSegments, kInFloats, nullptr, "num_segments constant"},
    {Op::UNSORTED_SEGMENT_MIN, LowerSegments, kInFloats, nullptr, "num_segments constant"},
    {Op::UNSORTED_SEGMENT_PROD, LowerSegments, kInFloats, nullptr, "num_segments constant"},
    {Op::UNSORTED_SEGMENT_SUM, LowerSegments, kInFloats, nullptr, "num_segments constant"},
    {Op::WHILE, LowerWhile, kExact, LowerWhile,
     "its condition known at conversion, up to 1024 rounds; no variables inside"},
    {Op::ZEROS_LIKE, LowerZerosLike, kInFloats},
};

/// True of the types of dims and indices.
bool IsIndex(DType type) { return type == DType::kI32 || type == DType::kI64; }

/// True if all quantized operands have the output's type, so that bits may be moved; and stand for
/// numbers in the same way, if `scaled_alike` asks for that.
Result<bool> BitsMayStay(const Node& node, bool scaled_alike) {
  TENON_ASSIGN_OR_RETURN(const Quantization first, node.OutputQuantization(0));
  TENON_ASSIGN_OR_RETURN(const DType dtype, node.OutputDType(0));
  for (int i = 1; i < node.OutputCount(); ++i) {
    TENON_ASSIGN_OR_RETURN(const DType type, node.OutputDType(i));
    if (IsIndex(type)) continue;
    TENON_ASSIGN_OR_RETURN(const Quantization other, node.OutputQuantization(i));
    if (scaled_alike && !(other == first)) return false;
  }
  for (int i = 0; i < node.InputCount(); ++i) {
    TENON_ASSIGN_OR_RETURN(const Quantization other, node.InputQuantization(i));
    if (other.IsNone()) continue;
    TENON_ASSIGN_OR_RETURN(const DType type, node.InputDType(i));
    if (IsIndex(type)) continue;
    if (type != dtype || (scaled_alike && !(other == first))) return false;
  }
  return true;
}

}  // namespace

const LoweringRow* FindLowering(const format::OperatorCode& code) {
  const Op op = OperatorOf(code);
  const std::string custom = op == Op::CUSTOM ? OperatorName(code) : "";
  const auto* found = std::find_if(std::begin(kRows), std::end(kRows), [&](const LoweringRow& row) {
    return row.op == op && row.custom == custom;
  });
  return found == std::end(kRows) ? nullptr : found;
}

Status Lower(Node& node) {
  const LoweringRow* found = FindLowering(node.code());
  // Graphs inside are not checked as a whole: a branch that is not taken may hold anything.
  if (found == nullptr) return InputError("this operator cannot be converted");
  const LoweringRow& row = *found;
  if (node.HasComplex()) return LowerComplex(node);
  TENON_ASSIGN_OR_RETURN(const QuantizedOperands quantized, node.Quantized());
  if (!quantized.bytes && !quantized.words) return row.lower(node);
  if (row.integers == Integers::kTaken) return row.lower(node);
  const bool takes_words = row.integers == Integers::kExactWide;
  if (row.quantized != nullptr && (takes_words || !quantized.words)) return row.quantized(node);
  const bool compares = row.integers == Integers::kCompared;
  if (row.integers == Integers::kMoved || (compares && !quantized.words)) {
    TENON_ASSIGN_OR_RETURN(const bool bits_stay, BitsMayStay(node, /*scaled_alike=*/compares));
    if (bits_stay) return row.lower(node);
  }
  node.ComputeInFloats();
  return row.lower(node);
}

}  // namespace tenon::converter::tflite

namespace tenon::converter {

std::vector<ImportedOperator> TfliteOperators() {
  std::vector<ImportedOperator> operators;
  for (const tflite::LoweringRow& row : tflite::kRows) {
    const char* quantized = "dequantized, computed in floats, quantized";
    const bool computes =
        row.integers != tflite::Integers::kMoved && row.integers != tflite::Integers::kCompared;
    if (!computes) quantized = "the bits stay";
    if (row.integers == tflite::Integers::kTaken) quantized = "taken as they are, without scales";
    if (row.quantized != nullptr) quantized = "TFLite's, bit for bit";
    const std::string name = row.custom.empty() ? tflite::format::EnumNameBuiltinOperator(row.op)
                                                : std::string(row.custom);
    operators.push_back({"tflite", "", name, std::string(row.limits), quantized});
  }
  std::sort(operators.begin(), operators.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return operators;
}

}  // namespace tenon::converter

#include <algorithm>
#include <iterator>

#include "converter/import/onnx/lowering.hpp"
#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

// Sorted by name, so that it can be searched.
constexpr LoweringRow kRows[] = {
    {"Abs", LowerUnary},
    {"Add", LowerBinary},
    {"And", LowerBinary},
    {"AveragePool", LowerAveragePool},
    {"BatchNormalization", LowerBatchNormalization},
    {"Cast", LowerCast},
    {"CastLike", LowerCast},
    {"Ceil", LowerUnary},
    {"Celu", LowerCelu},
    {"Clip", LowerClip},
    {"Concat", LowerConcat},
    {"Constant", LowerConstant},
    {"ConstantOfShape", LowerConstantOfShape},
    {"Conv", LowerConv},
    {"ConvInteger", LowerConvInteger},
    {"Cos", LowerUnary},
    {"DepthToSpace", LowerDepthToSpace},
    {"DequantizeLinear", LowerDequantizeLinear},
    {"Div", LowerBinary},
    {"Dropout", LowerDropout},
    {"DynamicQuantizeLinear", LowerDynamicQuantizeLinear},
    {"Elu", LowerUnary},
    {"Equal", LowerBinary},
    {"Erf", LowerUnary},
    {"Exp", LowerUnary},
    {"Expand", LowerExpand},
    {"Flatten", LowerFlatten},
    {"Floor", LowerUnary},
    {"Gather", LowerGather},
    {"Gelu", LowerGelu},
    {"Gemm", LowerGemm},
    {"GlobalAveragePool", LowerGlobalPool},
    {"GlobalMaxPool", LowerGlobalPool},
    {"Greater", LowerBinary},
    {"GreaterOrEqual", LowerBinary},
    {"HardSigmoid", LowerUnary},
    {"HardSwish", LowerUnary},
    {"Identity", LowerIdentity},
    {"InstanceNormalization", LowerInstanceNormalization},
    {"LRN", LowerLrn},
    {"LayerNormalization", LowerLayerNormalization},
    {"LeakyRelu", LowerUnary},
    {"Less", LowerBinary},
    {"LessOrEqual", LowerBinary},
    {"Log", LowerUnary},
    {"LogSoftmax", LowerSoftmax},
    {"LpNormalization", LowerLpNormalization},
    {"MatMul", LowerMatMul},
    {"MatMulInteger", LowerMatMulInteger},
    {"Max", LowerVariadic},
    {"MaxPool", LowerMaxPool},
    {"Mean", LowerVariadic},
    {"MeanVarianceNormalization", LowerMeanVarianceNormalization},
    {"Min", LowerVariadic},
    {"Mish", LowerUnary},
    {"Mod", LowerMod},
    {"Mul", LowerBinary},
    {"Neg", LowerUnary},
    {"Not", LowerUnary},
    {"Or", LowerBinary},
    {"PRelu", LowerPRelu},
    {"Pad", LowerPad},
    {"Pow", LowerPow},
    {"QLinearConv", LowerQLinearConv},
    {"QLinearMatMul", LowerQLinearMatMul},
    {"QuantizeLinear", LowerQuantizeLinear},
    {"Range", LowerRange},
    {"Reciprocal", LowerUnary},
    {"ReduceL1", LowerReduce},
    {"ReduceL2", LowerReduce},
    {"ReduceLogSum", LowerReduce},
    {"ReduceLogSumExp", LowerReduce},
    {"ReduceMax", LowerReduce},
    {"ReduceMean", LowerReduce},
    {"ReduceMin", LowerReduce},
    {"ReduceProd", LowerReduce},
    {"ReduceSum", LowerReduce},
    {"ReduceSumSquare", LowerReduce},
    {"Relu", LowerUnary},
    {"Reshape", LowerReshape},
    {"Resize", LowerResize},
    {"Round", LowerUnary},
    {"Selu", LowerUnary},
    {"Shape", LowerShape},
    {"Sigmoid", LowerUnary},
    {"Sign", LowerUnary},
    {"Sin", LowerUnary},
    {"Size", LowerSize},
    {"Slice", LowerSlice},
    {"Softmax", LowerSoftmax},
    {"Softplus", LowerUnary},
    {"Softsign", LowerUnary},
    {"SpaceToDepth", LowerSpaceToDepth},
    {"Split", LowerSplit},
    {"Sqrt", LowerUnary},
    {"Squeeze", LowerSqueeze},
    {"Sub", LowerBinary},
    {"Sum", LowerVariadic},
    {"Tanh", LowerUnary},
    {"ThresholdedRelu", LowerThresholdedRelu},
    {"Tile", LowerTile},
    {"Transpose", LowerTranspose},
    {"Unsqueeze", LowerUnsqueeze},
    {"Upsample", LowerUpsample},
    {"Where", LowerWhere},
    {"Xor", LowerBinary},
};

// Of the domain com.microsoft. Sorted, too.
constexpr LoweringRow kMicrosoftRows[] = {
    {"DequantizeLinear", LowerDequantizeLinear},
    {"DynamicQuantizeMatMul", LowerDynamicQuantizeMatMul},
    {"MatMulIntegerToFloat", LowerMatMulIntegerToFloat},
    {"QGemm", LowerQGemm},
    {"QLinearAdd", LowerQLinearBinary},
    {"QLinearAveragePool", LowerQLinearAveragePool},
    {"QLinearConcat", LowerQLinearConcat},
    {"QLinearConv", LowerQLinearConv},
    {"QLinearGlobalAveragePool", LowerQLinearGlobalAveragePool},
    {"QLinearLeakyRelu", LowerQLinearUnary},
    {"QLinearMul", LowerQLinearBinary},
    {"QLinearReduceMean", LowerQLinearReduceMean},
    {"QLinearSigmoid", LowerQLinearUnary},
    {"QLinearSoftmax", LowerQLinearSoftmax},
    {"QuantizeLinear", LowerQuantizeLinear},
};

template <size_t N>
constexpr bool IsSorted(const LoweringRow (&rows)[N]) {
  for (size_t i = 1; i < N; ++i) {
    if (!(rows[i - 1].op_type < rows[i].op_type)) return false;
  }
  return true;
}
static_assert(IsSorted(kRows) && IsSorted(kMicrosoftRows), "Find searches by bisection");

template <size_t N>
const LoweringRow* Find(const LoweringRow (&rows)[N], std::string_view op_type) {
  const auto* found = std::lower_bound(
      std::begin(rows), std::end(rows), op_type,
      [](const LoweringRow& row, std::string_view name) { return row.op_type < name; });
  return found != std::end(rows) && found->op_type == op_type ? found : nullptr;
}

}  // namespace

const LoweringRow* FindLowering(std::string_view domain, std::string_view op_type) {
  if (domain == "com.microsoft") return Find(kMicrosoftRows, op_type);
  if (!domain.empty() && domain != "ai.onnx") return nullptr;
  return Find(kRows, op_type);
}

}  // namespace tenon::converter

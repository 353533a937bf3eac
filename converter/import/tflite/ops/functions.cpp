// Functions of one tensor, element by element, in floats.
#include <cmath>
#include <iterator>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Op = format::BuiltinOperator;

struct UnaryRow {
  Op op;
  UnaryFunction function;
  float a = 0.0F;
  float b = 0.0F;
};

constexpr UnaryRow kFunctionsRows[] = {
    {Op::ABS, UnaryFunction::kAbs},
    {Op::CEIL, UnaryFunction::kCeil},
    {Op::COS, UnaryFunction::kCos},
    {Op::ELU, UnaryFunction::kElu, 1.0F},
    {Op::EXP, UnaryFunction::kExp},
    {Op::FLOOR, UnaryFunction::kFloor},
    {Op::HARD_SWISH, UnaryFunction::kHardSwish},
    {Op::LEAKY_RELU, UnaryFunction::kLeakyRelu},
    {Op::LOG, UnaryFunction::kLog},
    {Op::LOGICAL_NOT, UnaryFunction::kNot},
    {Op::LOGISTIC, UnaryFunction::kSigmoid},
    {Op::NEG, UnaryFunction::kNeg},
    {Op::RELU, UnaryFunction::kRelu},
    {Op::RELU6, UnaryFunction::kClip, 0.0F, 6.0F},
    {Op::RELU_0_TO_1, UnaryFunction::kClip, 0.0F, 1.0F},
    {Op::RELU_N1_TO_1, UnaryFunction::kClip, -1.0F, 1.0F},
    {Op::ROUND, UnaryFunction::kRound},
    {Op::SIGN, UnaryFunction::kSign},
    {Op::SIN, UnaryFunction::kSin},
    {Op::SQRT, UnaryFunction::kSqrt},
    {Op::TANH, UnaryFunction::kTanh},
};

}  // namespace

Status LowerUnary(Node& node) {
  const auto* row = std::find_if(std::begin(kFunctionsRows), std::end(kFunctionsRows),
                                 [&](const UnaryRow& one) { return one.op == node.op(); });
  if (row == std::end(kFunctionsRows)) return InternalError("it is in no table of functions");
  UnaryAttributes attributes{row->function, row->a, row->b};
  if (const auto* leaky = node.stored().builtin_options_as_LeakyReluOptions()) {
    attributes.a = leaky->alpha();
  }
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Unary(x, attributes));
  return node.SetOutput(0, y, order);
}

Status LowerRsqrt(Node& node) {
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Unary(x, {UnaryFunction::kSqrt, 0.0F, 0.0F}));
  TENON_ASSIGN_OR_RETURN(y, node.Unary(y, {UnaryFunction::kReciprocal, 0.0F, 0.0F}));
  return node.SetOutput(0, y, order);
}

Status LowerSquare(Node& node) {
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Binary(BinaryFunction::kMul, x, x));
  return node.SetOutput(0, y, order);
}

// The approximate form: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))); Hendrycks and Gimpel,
// "Gaussian Error Linear Units", 2016, section 2.
Status LowerGelu(Node& node) {
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  const auto* options = node.stored().builtin_options_as_GeluOptions();
  const bool is_tanh = options != nullptr && options->approximate();
  const UnaryFunction function = is_tanh ? UnaryFunction::kGeluTanh : UnaryFunction::kGelu;
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Unary(x, {function, 0.0F, 0.0F}));
  return node.SetOutput(0, y, order);
}

// How many boundaries are not above an element; NaN is above all.
Status LowerBucketize(Node& node) {
  const auto* options = node.stored().builtin_options_as_BucketizeOptions();
  if (options == nullptr || options->boundaries() == nullptr) {
    return InputError("its options are missing");
  }
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  const std::vector<double> boundaries(options->boundaries()->begin(),
                                       options->boundaries()->end());
  if (boundaries.empty()) return InputError("it has no boundaries");
  const auto count = static_cast<int64_t>(boundaries.size());
  std::vector<int64_t> dims(shape.dims, shape.dims + shape.rank);
  dims.push_back(1);
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Cast(x, DType::kF32));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, dims));
  TENON_ASSIGN_OR_RETURN(const Shape row, ShapeFromDims({count}));
  TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kLess, y,
                                        node.Constant("boundaries", DType::kF32, row, boundaries)));
  TENON_ASSIGN_OR_RETURN(y, node.Unary(y, {UnaryFunction::kNot, 0.0F, 0.0F}));
  TENON_ASSIGN_OR_RETURN(y, node.Cast(y, DType::kI32));
  TENON_ASSIGN_OR_RETURN(
      y, node.Reduce(ReduceFunction::kSum, y, 1 << shape.rank, /*keep_dims=*/false));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite

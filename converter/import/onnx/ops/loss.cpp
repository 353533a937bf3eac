// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <numeric>

#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

/// What the loss of each element is made of; all but `target` may be kNone.
struct Targets {
  TensorId target = kNone;   ///< class of each element, 0 where it is ignored; i64
  TensorId ignored = kNone;  ///< bool: where the loss does not count
  TensorId weight = kNone;   ///< weight of each element, 0 where it is ignored
};

Result<Targets> ReadTargets(Lowering& node, DType dtype) {
  Targets result;
  TENON_ASSIGN_OR_RETURN(const TensorId target, node.Input(1));
  TENON_ASSIGN_OR_RETURN(result.target, node.Cast(target, DType::kI64));
  if (node.HasAttribute("ignore_index")) {
    const auto value = static_cast<double>(node.Int("ignore_index", 0));
    TENON_ASSIGN_OR_RETURN(const TensorId index, node.Scalar("ignore_index", DType::kI64, value));
    TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", DType::kI64, 0));
    TENON_ASSIGN_OR_RETURN(result.ignored,
                           node.Binary(BinaryFunction::kEqual, result.target, index));
    TENON_ASSIGN_OR_RETURN(result.target, Select(node, result.ignored, zero, result.target));
  }
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(const TensorId weights, node.Input(2));
    TENON_ASSIGN_OR_RETURN(result.weight, EmitGather(node, weights, result.target, 0));
  } else if (result.ignored != kNone) {
    TENON_ASSIGN_OR_RETURN(result.weight, node.Scalar("one", dtype, 1));
  }
  if (result.ignored != kNone) {
    TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("no_weight", dtype, 0));
    TENON_ASSIGN_OR_RETURN(result.weight, Select(node, result.ignored, zero, result.weight));
  }
  return result;
}

/// -scores[n, target[n, ...], ...] * weight[n, ...]; 0 where ignored, whatever the score is.
Result<TensorId> LossOfEach(Lowering& node, TensorId scores, const Targets& targets) {
  const Shape shape = node.ShapeOf(targets.target);
  if (shape.rank < 1 || node.ShapeOf(scores).rank != shape.rank + 1) {
    return InputError("its target has {} dimensions, its scores {}", shape.rank,
                      node.ShapeOf(scores).rank);
  }
  std::vector<int64_t> dims = DimsOf(shape);
  dims.insert(dims.begin() + 1, 1);
  TENON_ASSIGN_OR_RETURN(const TensorId index, node.Reshape(targets.target, dims));
  TENON_ASSIGN_OR_RETURN(TensorId loss, EmitGatherElements(node, scores, index, 1));
  TENON_ASSIGN_OR_RETURN(loss, node.Reshape(loss, DimsOf(shape)));
  if (targets.weight != kNone) {
    TENON_ASSIGN_OR_RETURN(loss, node.Binary(BinaryFunction::kMul, loss, targets.weight));
  }
  if (targets.ignored != kNone) {
    TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("no_loss", node.DTypeOf(loss), 0));
    TENON_ASSIGN_OR_RETURN(loss, Select(node, targets.ignored, zero, loss));
  }
  return loss;
}

Status EmitLoss(Lowering& node, TensorId scores) {
  const std::string reduction = node.Text("reduction", "mean");
  TENON_ASSIGN_OR_RETURN(const Targets targets, ReadTargets(node, node.DTypeOf(scores)));
  TENON_ASSIGN_OR_RETURN(const TensorId each, LossOfEach(node, scores, targets));
  const UnaryAttributes negative{UnaryFunction::kNeg, 0.0F, 0.0F};
  if (reduction == "none") return node.Unary(each, negative, 0).status();
  std::vector<int32_t> axes(static_cast<size_t>(node.ShapeOf(each).rank));
  std::iota(axes.begin(), axes.end(), 0);
  const bool weighted = targets.weight != kNone;
  if (reduction != "sum" && reduction != "mean") {
    return InputError("reduction '{}' is not known", reduction);
  }
  const bool plain_mean = reduction == "mean" && !weighted;
  TENON_ASSIGN_OR_RETURN(
      TensorId total,
      node.Reduce(plain_mean ? ReduceFunction::kMean : ReduceFunction::kSum, each, axes, false));
  if (reduction == "mean" && weighted) {
    TENON_ASSIGN_OR_RETURN(const TensorId weight,
                           node.Reduce(ReduceFunction::kSum, targets.weight, axes, false));
    TENON_ASSIGN_OR_RETURN(total, node.Binary(BinaryFunction::kDiv, total, weight));
  }
  return node.Unary(total, negative, 0).status();
}

Status LowerNegativeLogLikelihoodLoss(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId scores, node.Input(0));
  return EmitLoss(node, scores);
}

// The loss of the logarithm of the softmax over the classes (axis 1), which is output 1.
Status LowerSoftmaxCrossEntropyLoss(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId scores, node.Input(0));
  if (node.ShapeOf(scores).rank < 2) return InputError("its scores have no classes");
  SoftmaxAttributes attributes;
  attributes.axis = 1;
  attributes.log = 1;
  const int output = node.OutputUsed(1) ? 1 : kIntermediate;
  TENON_ASSIGN_OR_RETURN(const TensorId probabilities,
                         node.Emit(OpKind::kSoftmax, {scores}, Attributes(attributes), output));
  return EmitLoss(node, probabilities);
}

constexpr LoweringRow kLossRows[] = {
    {"NegativeLogLikelihoodLoss", LowerNegativeLogLikelihoodLoss},
    {"SoftmaxCrossEntropyLoss", LowerSoftmaxCrossEntropyLoss},
};

}  // namespace

constexpr Span<const LoweringRow> kLossLowerings = kLossRows;

}  // namespace tenon::converter

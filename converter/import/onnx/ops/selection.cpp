// TopK and NonMaxSuppression: what is chosen by value.
#include <algorithm>

#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

/// TopK's K: an attribute before opset 10, then an input that must be known.
Result<int64_t> ReadCount(Lowering& node) {
  constexpr int kInputSince = 10;
  if (node.opset() < kInputSince) return node.Int("k", 0);
  TENON_ASSIGN_OR_RETURN(const TensorId given, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> count, node.ConstantInts(given));
  if (count.size() != 1) return InputError("K has {} elements instead of 1", count.size());
  return count.front();
}

Status LowerTopK(Lowering& node) {
  node.Ignore({"sorted"});  // they always are
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int64_t count, ReadCount(node));
  TopKAttributes attributes;
  TENON_ASSIGN_OR_RETURN(attributes.axis, node.Axis(node.Int("axis", -1), shape.rank));
  if (count < 0 || count > shape[attributes.axis]) {
    return InputError("K is {} for {} elements", count, shape[attributes.axis]);
  }
  attributes.count = static_cast<int32_t>(count);
  attributes.smallest = node.Flag("largest", true) ? 0 : 1;
  TENON_ASSIGN_OR_RETURN(const TensorId ordered, Ordered(node, x));
  TENON_ASSIGN_OR_RETURN(const TensorId indices,
                         node.Emit(OpKind::kTopK, {ordered}, Attributes(attributes),
                                   node.OutputUsed(1) ? 1 : kIntermediate));
  if (!node.OutputUsed(0)) return {};
  return EmitGatherElements(node, x, indices, attributes.axis, 0).status();
}

/// A number that a node may be given as an input of one element.
Result<double> OptionalNumber(Lowering& node, int input, double otherwise) {
  if (!node.HasInput(input)) return otherwise;
  TENON_ASSIGN_OR_RETURN(const TensorId given, node.Input(input));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> values, node.ConstantDoubles(given));
  if (values.size() != 1) {
    return InputError("input {} has {} elements instead of 1", input, values.size());
  }
  return values.front();
}

/// As many rows as boxes could be taken, since a plan's shapes are known; those that are not are
/// -1.
Status LowerNonMaxSuppression(Lowering& node) {
  enum : int { kBoxes, kScores, kMostOfClass, kOverlap, kLeastScore };
  TENON_ASSIGN_OR_RETURN(const TensorId boxes, node.Input(kBoxes));
  TENON_ASSIGN_OR_RETURN(const TensorId scores, node.Input(kScores));
  const Shape shape = node.ShapeOf(scores);
  if (shape.rank != 3) return InputError("scores have rank {} instead of 3", shape.rank);
  TENON_ASSIGN_OR_RETURN(const double most, OptionalNumber(node, kMostOfClass, 0));
  if (!(most >= 1)) return node.ConstantOutput(0, TensorData{DType::kI64, Shape({0, 3}), {}});
  NonMaxSuppressionAttributes attributes;
  attributes.most_of_class = static_cast<int32_t>(std::min<double>(most, shape[2]));
  const int64_t rows = int64_t{shape[0]} * shape[1] * attributes.most_of_class;
  constexpr int64_t kMostRows = 1 << 24;
  if (rows > kMostRows) return InputError("{} boxes might be taken, at most {}", rows, kMostRows);
  attributes.rows = static_cast<int32_t>(rows);
  TENON_ASSIGN_OR_RETURN(const double overlap, OptionalNumber(node, kOverlap, 0));
  TENON_ASSIGN_OR_RETURN(const double least, OptionalNumber(node, kLeastScore, 0));
  attributes.overlap = static_cast<float>(overlap);
  attributes.least_score = static_cast<float>(least);
  attributes.by_score = node.HasInput(kLeastScore) ? 1 : 0;
  attributes.by_center = node.Flag("center_point_box", false) ? 1 : 0;
  TopKAttributes order;
  order.axis = 2;
  order.count = shape[2];
  TENON_ASSIGN_OR_RETURN(const TensorId by_score,
                         node.Emit(OpKind::kTopK, {scores}, Attributes(order)));
  return node.Emit(OpKind::kNonMaxSuppression, {boxes, scores, by_score}, Attributes(attributes), 0)
      .status();
}

constexpr LoweringRow kSelectionRows[] = {
    {"NonMaxSuppression",
     LowerNonMaxSuppression,
     {},
     "thresholds and numbers constant; as many rows as can be taken, -1 where nothing is"},
    {"TopK", LowerTopK, {}, "K constant; not u64; NaN counts as the largest"},
};

}  // namespace

constexpr Span<const LoweringRow> kSelectionLowerings = kSelectionRows;

}  // namespace tenon::converter

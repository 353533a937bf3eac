// NON_MAX_SUPPRESSION_V4 and _V5: boxes by score, less those that overlap one taken before. A
// plan's shapes are known: results have as many rows as boxes may be taken, zeros behind the last,
// which is how TFLite pads them.
#include <cmath>
#include <limits>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

struct SuppressionInput {
  enum : int { kBoxes = 0, kScores = 1, kMost = 2, kOverlap = 3, kLeast = 4, kSigma = 5 };
};

/// A scalar input that must be known now.
Result<double> Known(Node& node, int index) {
  TENON_ASSIGN_OR_RETURN(const std::vector<double> values, node.Doubles(index));
  const bool all = index == SuppressionInput::kLeast && values.size() == 1 &&
                   std::isinf(values[0]) && values[0] < 0;
  if (all) return double{std::numeric_limits<float>::lowest()};  // TensorFlow's default: any score
  if (values.size() != 1 || !std::isfinite(values[0])) {
    return InputError("input {} is not one finite number", index);
  }
  return values[0];
}

Result<NonMaxSuppressionAttributes> ReadAttributes(Node& node) {
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> most, node.Ints(SuppressionInput::kMost));
  constexpr int64_t kMostRows = 1 << 20;
  if (most.size() != 1 || most[0] < 1 || most[0] > kMostRows) {
    return InputError("how many boxes are taken must be 1 to {}", kMostRows);
  }
  TENON_ASSIGN_OR_RETURN(const double overlap, Known(node, SuppressionInput::kOverlap));
  TENON_ASSIGN_OR_RETURN(const double least, Known(node, SuppressionInput::kLeast));
  if (node.HasInput(SuppressionInput::kSigma)) {
    TENON_ASSIGN_OR_RETURN(const double sigma, Known(node, SuppressionInput::kSigma));
    if (sigma != 0.0) return InputError("scores that overlaps lower (sigma) are not supported");
  }
  NonMaxSuppressionAttributes attributes;
  attributes.rows = attributes.most_of_class = static_cast<int32_t>(most[0]);
  // TFLite drops a box with just this overlap too.
  attributes.overlap =
      std::nextafter(static_cast<float>(overlap), -std::numeric_limits<float>::infinity());
  if (overlap <= 0) attributes.most_of_class = 1;  // all others overlap the first by 0 at least
  attributes.least_score = static_cast<float>(least);
  attributes.by_score = 1;
  return attributes;
}

/// Of each row the box's number, -1 behind the last.
Result<TensorId> TakenBoxes(Node& node, TensorId boxes, TensorId scores) {
  const int64_t count = node.ShapeOf(scores)[0];
  TENON_ASSIGN_OR_RETURN(const NonMaxSuppressionAttributes attributes, ReadAttributes(node));
  TENON_ASSIGN_OR_RETURN(const TensorId corners, node.Reshape(boxes, {1, count, 4}));
  TENON_ASSIGN_OR_RETURN(const TensorId one_class, node.Reshape(scores, {1, 1, count}));
  TopKAttributes all;
  all.axis = 2;
  all.count = static_cast<int32_t>(count);
  TENON_ASSIGN_OR_RETURN(const TensorId order,
                         node.Emit(OpKind::kTopK, {one_class}, Attributes(all)));
  TENON_ASSIGN_OR_RETURN(
      const TensorId rows,
      node.Emit(OpKind::kNonMaxSuppression, {corners, one_class, order}, Attributes(attributes)));
  SliceAttributes slice;
  slice.rank = 2;
  slice.begins[1] = 2;
  slice.sizes[0] = attributes.rows;
  slice.sizes[1] = 1;
  slice.steps[0] = slice.steps[1] = 1;
  TENON_ASSIGN_OR_RETURN(const TensorId places, node.Slice(rows, slice));
  return node.Reshape(places, {attributes.rows});
}

}  // namespace

Status LowerNonMaxSuppression(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId boxes, node.Input(SuppressionInput::kBoxes));
  TENON_ASSIGN_OR_RETURN(const TensorId scores, node.Input(SuppressionInput::kScores));
  const Shape shape = node.ShapeOf(boxes);
  const Shape of_scores = node.ShapeOf(scores);
  const bool has_scores = node.op() == format::BuiltinOperator::NON_MAX_SUPPRESSION_V5;
  if (shape.rank != 2 || shape[0] < 1 || shape[1] != 4 || of_scores.rank != 1 ||
      of_scores[0] != shape[0] || node.OutputCount() != (has_scores ? 3 : 2)) {
    return InputError("its inputs are not boxes and a score for each");
  }
  TENON_ASSIGN_OR_RETURN(const TensorId taken, TakenBoxes(node, boxes, scores));
  const auto where_there = [&](TensorId is_there, TensorId x) {
    const TensorId nothing = node.Scalar("nothing", node.DTypeOf(x), 0.0);
    return node.Emit(OpKind::kSelect, {is_there, x, nothing}, Attributes());
  };
  TENON_ASSIGN_OR_RETURN(
      const TensorId is_there,
      node.Binary(BinaryFunction::kGreaterOrEqual, taken, node.Scalar("first", DType::kI64, 0.0)));
  TENON_ASSIGN_OR_RETURN(const TensorId places, where_there(is_there, taken));
  TENON_ASSIGN_OR_RETURN(const TensorId indices, node.Cast(places, DType::kI32));
  TENON_RETURN_IF_ERROR(node.SetOutput(0, indices));
  if (has_scores) {
    TENON_ASSIGN_OR_RETURN(const TensorId found, node.Emit(OpKind::kGather, {scores, places},
                                                           Attributes(GatherAttributes())));
    TENON_ASSIGN_OR_RETURN(const TensorId kept, where_there(is_there, found));
    TENON_RETURN_IF_ERROR(node.SetOutput(1, kept));
  }
  TENON_ASSIGN_OR_RETURN(const TensorId ones, node.Cast(is_there, DType::kI32));
  TENON_ASSIGN_OR_RETURN(const TensorId count,
                         node.Reduce(ReduceFunction::kSum, ones, 1, /*keep_dims=*/false));
  return node.SetOutput(has_scores ? 2 : 1, count);
}

}  // namespace tenon::converter::tflite

#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

Status Infer(const OpCall& call, OutputType* outputs) {
  using Input = NonMaxSuppressionInput;
  const auto& attributes = call.AttributesAs<NonMaxSuppressionAttributes>();
  const TensorView& boxes = call.Input(Input::kBoxes);
  const TensorView& scores = call.Input(Input::kScores);
  const TensorView& order = call.Input(Input::kOrder);
  TENON_ENSURE(boxes.dtype == DType::kF32 && scores.dtype == DType::kF32, kInvalidArgument,
               "boxes and scores must be f32");
  TENON_ENSURE(order.dtype == DType::kI32 || order.dtype == DType::kI64, kInvalidArgument,
               "the order must be i32 or i64");
  TENON_ENSURE(boxes.rank == 3 && boxes.dims[2] == 4, kInvalidArgument,
               "boxes must have shape [images, boxes, 4]");
  TENON_ENSURE(
      scores.rank == 3 && scores.dims[0] == boxes.dims[0] && scores.dims[2] == boxes.dims[1],
      kInvalidArgument, "scores must have shape [images, classes, boxes]");
  TENON_ENSURE(order.shape() == scores.shape(), kInvalidArgument,
               "the order must have the shape of the scores");
  TENON_ENSURE(attributes.rows >= 0 && attributes.most_of_class >= 0, kInvalidArgument,
               "rows and most_of_class must not be negative");
  TENON_ENSURE(IsFlag(attributes.by_score) && IsFlag(attributes.by_center), kInvalidArgument,
               "by_score and by_center must be 0 or 1");
  const int32_t dims[] = {attributes.rows, 3};
  return SetOutput(DType::kI64, Shape(dims, 2), outputs);
}

}  // namespace

constexpr OpRow kNonMaxSuppressionRow = MakeOpRow<NonMaxSuppressionAttributes>(
    OpKind::kNonMaxSuppression, /*min_inputs=*/3, /*max_inputs=*/3, Infer);

}  // namespace tenon

// TFLite_Detection_PostProcess, the custom operator at the end of SSD detectors: boxes from what a
// network says of anchors, less those that overlap better ones (Liu et al., "SSD: Single Shot
// MultiBox Detector", 2016, section 2.2).
//
// A plan's shapes are known: outputs have as many rows as boxes may be kept, and those that nothing
// is left for are zeros.

// Else a number kept as text is read by a locale of FlatBuffers' library, of which only headers are
// used.
#define FLATBUFFERS_LOCALE_INDEPENDENT 0
#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <cmath>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

struct DetectionOptions {
  int32_t rows = 0;        ///< boxes that are kept
  int32_t classes = 0;     ///< without the background
  int32_t of_class = 100;  ///< boxes of a class, where each is suppressed for itself
  bool each_class = false;
  float least_score = 0.0F;
  float overlap = 0.0F;
  float scales[4] = {1.0F, 1.0F, 1.0F, 1.0F};  ///< y, x, height, width
};

Result<DetectionOptions> ReadOptions(const Node& node) {
  const auto* bytes = node.stored().custom_options();
  const bool verified = bytes != nullptr && bytes->size() > 0 &&
                        flexbuffers::VerifyBuffer(bytes->data(), bytes->size());
  if (!verified) return InputError("malformed: its options are no FlexBuffer");
  const flexbuffers::Reference root = flexbuffers::GetRoot(bytes->data(), bytes->size());
  if (!root.IsMap()) return InputError("malformed: its options are no map");
  const flexbuffers::Map map = root.AsMap();
  DetectionOptions options;
  options.rows = map["max_detections"].AsInt32();
  options.classes = map["num_classes"].AsInt32();
  options.each_class = map["use_regular_nms"].AsBool();
  if (!map["detections_per_class"].IsNull()) {
    options.of_class = map["detections_per_class"].AsInt32();
  }
  options.least_score = map["nms_score_threshold"].AsFloat();
  options.overlap = map["nms_iou_threshold"].AsFloat();
  const char* const names[] = {"y_scale", "x_scale", "h_scale", "w_scale"};
  for (int i = 0; i < 4; ++i) options.scales[i] = map[names[i]].AsFloat();
  constexpr int32_t kMost = 1 << 16;
  const auto is_count = [](int32_t count) { return count >= 1 && count <= kMost; };
  const bool scaled = std::all_of(options.scales, options.scales + 4,
                                  [](float scale) { return std::isfinite(scale) && scale > 0; });
  if (!is_count(options.rows) || !is_count(options.classes) || !is_count(options.of_class) ||
      !scaled || !std::isfinite(options.least_score)) {
    return InputError("its options are out of range");
  }
  if (!options.each_class && map["max_classes_per_detection"].AsInt32() != 1) {
    return InputError("several classes of a box are not supported");
  }
  return options;
}

Result<TensorId> Columns(Node& node, TensorId x, int32_t begin, int32_t count) {
  SliceAttributes slice;
  slice.rank = 2;
  slice.begins[1] = begin;
  slice.sizes[0] = node.ShapeOf(x)[0];
  slice.sizes[1] = count;
  slice.steps[0] = slice.steps[1] = 1;
  return node.Slice(x, slice);
}

Result<TensorId> TopK(Node& node, TensorId x, int32_t axis, int32_t count) {
  TopKAttributes attributes;
  attributes.axis = axis;
  attributes.count = count;
  return node.Emit(OpKind::kTopK, {x}, Attributes(attributes));
}

Result<TensorId> Gather(Node& node, TensorId x, TensorId indices) {
  return node.Emit(OpKind::kGather, {x, indices}, Attributes(GatherAttributes()));
}

/// x where a row is there, otherwise 0.
Result<TensorId> WhereThere(Node& node, TensorId is_there, TensorId x) {
  return node.Emit(OpKind::kSelect, {is_there, x, node.Scalar("nothing", node.DTypeOf(x), 0.0)},
                   Attributes());
}

/// Corners y, x, y, x of boxes [boxes, 4]: centres are given in parts of the anchors' sizes, sizes
/// as the logarithms of such parts.
Result<TensorId> DecodedBoxes(Node& node, const DetectionOptions& options, int32_t boxes) {
  TENON_ASSIGN_OR_RETURN(TensorId given, node.Input(0));
  TENON_ASSIGN_OR_RETURN(TensorId anchors, node.Input(2));
  const Shape shape = node.ShapeOf(given);
  TENON_ASSIGN_OR_RETURN(given, node.Reshape(given, {boxes, shape[2]}));
  TENON_ASSIGN_OR_RETURN(anchors, node.Reshape(anchors, {boxes, 4}));
  const auto halves = [&](TensorId x, int32_t begin) { return Columns(node, x, begin, 2); };
  const auto scales = [&](const char* hint, const float* pair) {
    return node.Constant(hint, DType::kF32, Shape({1, 2}), {double{pair[0]}, double{pair[1]}});
  };
  TENON_ASSIGN_OR_RETURN(const TensorId anchor_center, halves(anchors, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId anchor_size, halves(anchors, 2));
  TENON_ASSIGN_OR_RETURN(TensorId center, halves(given, 0));
  TENON_ASSIGN_OR_RETURN(
      center, node.Binary(BinaryFunction::kDiv, center, scales("center_scales", options.scales)));
  TENON_ASSIGN_OR_RETURN(center, node.Binary(BinaryFunction::kMul, center, anchor_size));
  TENON_ASSIGN_OR_RETURN(center, node.Binary(BinaryFunction::kAdd, center, anchor_center));
  TENON_ASSIGN_OR_RETURN(TensorId half, halves(given, 2));
  TENON_ASSIGN_OR_RETURN(
      half, node.Binary(BinaryFunction::kDiv, half, scales("size_scales", options.scales + 2)));
  TENON_ASSIGN_OR_RETURN(half, node.Unary(half, {UnaryFunction::kExp}));
  TENON_ASSIGN_OR_RETURN(
      half, node.Binary(BinaryFunction::kMul, half, node.Scalar("half", DType::kF32, 0.5)));
  TENON_ASSIGN_OR_RETURN(half, node.Binary(BinaryFunction::kMul, half, anchor_size));
  TENON_ASSIGN_OR_RETURN(const TensorId low, node.Binary(BinaryFunction::kSub, center, half));
  TENON_ASSIGN_OR_RETURN(const TensorId high, node.Binary(BinaryFunction::kAdd, center, half));
  ConcatAttributes attributes;
  attributes.axis = 1;
  return node.Emit(OpKind::kConcat, {low, high}, Attributes(attributes));
}

/// Boxes that are left, [rows] each: place among the boxes, class (f32), score, whether there is
/// one.
struct Kept {
  TensorId place = kNone;
  TensorId label = kNone;
  TensorId score = kNone;
  TensorId is_there = kNone;
};

/// What is taken of scores [classes, boxes], class by class, `most` of each and `rows` in all: i64
/// [rows, 3], -1 where there is nothing.
Result<TensorId> Suppressed(Node& node, const DetectionOptions& options, TensorId boxes,
                            TensorId scores, int32_t most, int32_t rows) {
  const Shape shape = node.ShapeOf(scores);
  TENON_ASSIGN_OR_RETURN(const TensorId of_image, node.Reshape(scores, {1, shape[0], shape[1]}));
  TENON_ASSIGN_OR_RETURN(const TensorId order, TopK(node, of_image, 2, shape[1]));
  TENON_ASSIGN_OR_RETURN(const TensorId corners, node.Reshape(boxes, {1, shape[1], 4}));
  NonMaxSuppressionAttributes attributes;
  attributes.rows = rows;
  attributes.most_of_class = most;
  attributes.overlap = options.overlap;
  // TFLite takes a box with just this score too.
  attributes.least_score =
      std::nextafter(options.least_score, -std::numeric_limits<float>::infinity());
  attributes.by_score = 1;
  return node.Emit(OpKind::kNonMaxSuppression, {corners, of_image, order}, Attributes(attributes));
}

/// The class and the place of each row, and whether it is there.
Result<Kept> ReadRows(Node& node, TensorId rows) {
  const int64_t count = node.ShapeOf(rows)[0];
  Kept kept;
  TENON_ASSIGN_OR_RETURN(const TensorId labels, Columns(node, rows, 1, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId places, Columns(node, rows, 2, 1));
  TENON_ASSIGN_OR_RETURN(kept.place, node.Reshape(places, {count}));
  TENON_ASSIGN_OR_RETURN(kept.is_there, node.Binary(BinaryFunction::kGreaterOrEqual, kept.place,
                                                    node.Scalar("first", DType::kI64, 0.0)));
  TENON_ASSIGN_OR_RETURN(kept.place, WhereThere(node, kept.is_there, kept.place));
  TENON_ASSIGN_OR_RETURN(kept.label, node.Reshape(labels, {count}));
  TENON_ASSIGN_OR_RETURN(kept.label, WhereThere(node, kept.is_there, kept.label));
  return kept;
}

/// Each box with its best class, of `scores` [boxes, classes].
Result<Kept> BestOfBoxes(Node& node, const DetectionOptions& options, TensorId boxes,
                         TensorId scores) {
  const Shape shape = node.ShapeOf(scores);
  TENON_ASSIGN_OR_RETURN(const TensorId best, node.Reduce(ReduceFunction::kMax, scores, 2, false));
  TENON_ASSIGN_OR_RETURN(const TensorId one_class, node.Reshape(best, {1, shape[0]}));
  TENON_ASSIGN_OR_RETURN(const TensorId rows,
                         Suppressed(node, options, boxes, one_class, options.rows, options.rows));
  TENON_ASSIGN_OR_RETURN(Kept kept, ReadRows(node, rows));
  TENON_ASSIGN_OR_RETURN(kept.score, Gather(node, best, kept.place));
  TENON_ASSIGN_OR_RETURN(const TensorId labels, TopK(node, scores, 1, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId flat, node.Reshape(labels, {shape[0]}));
  TENON_ASSIGN_OR_RETURN(kept.label, Gather(node, flat, kept.place));
  return kept;
}

/// The best boxes of all classes, each class suppressed for itself.
Result<Kept> BestOfClasses(Node& node, const DetectionOptions& options, TensorId boxes,
                           TensorId scores) {
  TENON_ASSIGN_OR_RETURN(const TensorId by_class, node.Transpose(scores, {1, 0}));
  const Shape shape = node.ShapeOf(by_class);
  const int32_t of_class = std::min(options.of_class, shape[1]);
  constexpr int64_t kMostRows = 1 << 20;
  if (int64_t{of_class} * shape[0] > kMostRows) return InputError("it has too many candidates");
  const int32_t count = of_class * shape[0];
  TENON_ASSIGN_OR_RETURN(const TensorId rows,
                         Suppressed(node, options, boxes, by_class, of_class, count));
  TENON_ASSIGN_OR_RETURN(const Kept all, ReadRows(node, rows));
  TENON_ASSIGN_OR_RETURN(
      const TensorId start,
      node.Binary(BinaryFunction::kMul, all.label, node.Scalar("boxes", DType::kI64, shape[1])));
  TENON_ASSIGN_OR_RETURN(const TensorId at, node.Binary(BinaryFunction::kAdd, start, all.place));
  TENON_ASSIGN_OR_RETURN(const TensorId flat, node.Reshape(by_class, {shape.Elements()}));
  TENON_ASSIGN_OR_RETURN(TensorId found, Gather(node, flat, at));
  const TensorId lowest =
      node.Scalar("lowest", DType::kF32, double{std::numeric_limits<float>::lowest()});
  TENON_ASSIGN_OR_RETURN(found,
                         node.Emit(OpKind::kSelect, {all.is_there, found, lowest}, Attributes()));
  // Where fewer can be found than rows are wanted, the rest is nothing.
  TENON_ASSIGN_OR_RETURN(const TensorId best, TopK(node, found, 0, std::min(options.rows, count)));
  Kept kept;
  TENON_ASSIGN_OR_RETURN(kept.place, Gather(node, all.place, best));
  TENON_ASSIGN_OR_RETURN(kept.label, Gather(node, all.label, best));
  TENON_ASSIGN_OR_RETURN(kept.score, Gather(node, found, best));
  TENON_ASSIGN_OR_RETURN(kept.is_there, Gather(node, all.is_there, best));
  return kept;
}

/// Sets output `index` to rows of `x`, zeros where there is none.
Status SetRows(Node& node, int index, const DetectionOptions& options, TensorId is_there,
               TensorId x) {
  const Shape shape = node.ShapeOf(x);
  std::vector<int64_t> dims = {1, options.rows};
  if (shape.rank == 2) {
    dims.push_back(shape[1]);
    TENON_ASSIGN_OR_RETURN(is_there, node.Reshape(is_there, {shape[0], 1}));
  }
  TENON_ASSIGN_OR_RETURN(TensorId y, WhereThere(node, is_there, x));
  if (shape[0] < options.rows) {
    PadAttributes pad;
    pad.rank = shape.rank;
    pad.ends[0] = options.rows - shape[0];
    TENON_ASSIGN_OR_RETURN(y, node.Emit(OpKind::kPad, {y}, Attributes(pad)));
  }
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, dims));
  return node.SetOutput(index, y);
}

}  // namespace

// Boxes as the network says them, scores of classes, anchors.
Status LowerDetectionPostProcess(Node& node) {
  TENON_ASSIGN_OR_RETURN(const DetectionOptions options, ReadOptions(node));
  if (node.InputCount() != 3 || node.OutputCount() != 4) {
    return InputError("malformed: it has {} inputs and {} outputs", node.InputCount(),
                      node.OutputCount());
  }
  TENON_ASSIGN_OR_RETURN(const TensorId given, node.Input(0));
  TENON_ASSIGN_OR_RETURN(TensorId scores, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId anchors, node.Input(2));
  const Shape shape = node.ShapeOf(given);
  const Shape all = node.ShapeOf(scores);
  if (shape.rank != 3 || shape[0] != 1 || shape[2] < 4 || all.rank != 3 || all[0] != 1 ||
      all[1] != shape[1] || all[2] < options.classes ||
      node.ShapeOf(anchors).Elements() != int64_t{shape[1]} * 4 || shape[1] < 1) {
    return InputError("its inputs are not boxes, scores and anchors of one image");
  }
  TENON_ASSIGN_OR_RETURN(scores, node.Reshape(scores, {all[1], all[2]}));
  // The background comes first, if it is among the classes.
  TENON_ASSIGN_OR_RETURN(scores, Columns(node, scores, all[2] - options.classes, options.classes));
  TENON_ASSIGN_OR_RETURN(const TensorId boxes, DecodedBoxes(node, options, shape[1]));
  TENON_ASSIGN_OR_RETURN(const Kept kept, options.each_class
                                              ? BestOfClasses(node, options, boxes, scores)
                                              : BestOfBoxes(node, options, boxes, scores));
  TENON_ASSIGN_OR_RETURN(const TensorId found, Gather(node, boxes, kept.place));
  TENON_RETURN_IF_ERROR(SetRows(node, 0, options, kept.is_there, found));
  TENON_ASSIGN_OR_RETURN(const TensorId labels, node.Cast(kept.label, DType::kF32));
  TENON_RETURN_IF_ERROR(SetRows(node, 1, options, kept.is_there, labels));
  TENON_RETURN_IF_ERROR(SetRows(node, 2, options, kept.is_there, kept.score));
  TENON_ASSIGN_OR_RETURN(const TensorId ones, node.Cast(kept.is_there, DType::kF32));
  TENON_ASSIGN_OR_RETURN(const TensorId count,
                         node.Reduce(ReduceFunction::kSum, ones, 1, /*keep_dims=*/true));
  return node.SetOutput(3, count);
}

}  // namespace tenon::converter::tflite

// DetectionOutput (Liu et al., "SSD: Single Shot MultiBox Detector", 2016, section 2.2): boxes from
// what a network says of prior boxes, less those that overlap better ones, the best of all classes.
//
// A plan's shapes are known, so the output has as many rows as boxes may be kept; those that
// nothing is left for are -1. Each class goes through the suppression as an image of its own,
// because it sees its own best boxes only.
#include <algorithm>
#include <numeric>

#include "caffe_subset.pb.h"
#include "converter/import/caffe/lowering_table.hpp"

namespace tenon::converter::caffe {
namespace {

using Ints = std::vector<int64_t>;

TensorId Integers(Layer& layer, std::string_view hint, const Shape& shape, const Ints& values) {
  return layer.graph().AddConstantOf(fmt::format("{}/{}", layer.stored().name(), hint), DType::kI64,
                                     shape, values);
}

/// Columns [begin, begin + count) of a matrix.
Result<TensorId> Columns(Layer& layer, TensorId x, int32_t begin, int32_t count) {
  const Shape shape = layer.ShapeOf(x);
  SliceAttributes slice;
  slice.rank = 2;
  slice.begins[1] = begin;
  slice.sizes[0] = shape[0];
  slice.sizes[1] = count;
  slice.steps[0] = slice.steps[1] = 1;
  return layer.Emit(OpKind::kSlice, {x}, Attributes(slice));
}

Result<TensorId> Gather(Layer& layer, TensorId x, TensorId indices) {
  return layer.Emit(OpKind::kGather, {x, indices}, Attributes(GatherAttributes()));
}

Result<TensorId> TopK(Layer& layer, TensorId x, int32_t axis, int32_t count, bool smallest) {
  TopKAttributes attributes;
  attributes.axis = axis;
  attributes.count = count;
  attributes.smallest = smallest ? 1 : 0;
  return layer.Emit(OpKind::kTopK, {x}, Attributes(attributes));
}

Result<TensorId> Joined(Layer& layer, const std::vector<TensorId>& parts) {
  ConcatAttributes attributes;
  attributes.axis = 1;
  return layer.Emit(OpKind::kConcat, parts, Attributes(attributes));
}

/// A value for each row that is there, `otherwise` (a scalar) for the others.
Result<TensorId> WhereThere(Layer& layer, TensorId is_there, TensorId x, TensorId otherwise) {
  return layer.Emit(OpKind::kSelect, {is_there, x, otherwise}, Attributes());
}

/// The halves (x, y) of matrices of four columns.
struct Halves {
  TensorId first = kNone;
  TensorId second = kNone;
};

Result<Halves> HalvesOf(Layer& layer, TensorId x) {
  Halves halves;
  TENON_ASSIGN_OR_RETURN(halves.first, Columns(layer, x, 0, 2));
  TENON_ASSIGN_OR_RETURN(halves.second, Columns(layer, x, 2, 2));
  return halves;
}

/// Prior boxes [1, 2, 4 boxes] as their corners and what differences to them are multiplied by.
struct Priors {
  Halves corners;
  TensorId variances = kNone;
};

Result<Priors> ReadPriors(Layer& layer, int64_t boxes) {
  TENON_ASSIGN_OR_RETURN(const TensorId given, layer.Bottom(2));
  TENON_ASSIGN_OR_RETURN(const TensorId both, layer.Reshape(given, {2, boxes * 4}));
  const auto row = [&](int32_t index) -> Result<TensorId> {
    SliceAttributes slice;
    slice.rank = 2;
    slice.begins[0] = index;
    slice.sizes[0] = 1;
    slice.sizes[1] = static_cast<int32_t>(boxes * 4);
    slice.steps[0] = slice.steps[1] = 1;
    TENON_ASSIGN_OR_RETURN(const TensorId one,
                           layer.Emit(OpKind::kSlice, {both}, Attributes(slice)));
    return layer.Reshape(one, {boxes, 4});
  };
  Priors priors;
  TENON_ASSIGN_OR_RETURN(const TensorId corners, row(0));
  TENON_ASSIGN_OR_RETURN(priors.corners, HalvesOf(layer, corners));
  TENON_ASSIGN_OR_RETURN(priors.variances, row(1));
  return priors;
}

/// Corners of boxes whose differences to the corners of priors are given, in parts of the priors'
/// sizes where there are such.
Result<TensorId> FromCorners(Layer& layer, const Priors& priors, const Halves& given,
                             TensorId sizes) {
  TensorId corners[2] = {given.first, given.second};
  const TensorId of_priors[2] = {priors.corners.first, priors.corners.second};
  for (int i = 0; i < 2; ++i) {
    if (sizes != kNone) {
      TENON_ASSIGN_OR_RETURN(corners[i], layer.Binary(BinaryFunction::kMul, corners[i], sizes));
    }
    TENON_ASSIGN_OR_RETURN(corners[i],
                           layer.Binary(BinaryFunction::kAdd, corners[i], of_priors[i]));
  }
  return Joined(layer, {corners[0], corners[1]});
}

/// Corners of boxes whose centres are given in parts of the priors' sizes, whose own sizes as the
/// logarithms of such parts.
Result<TensorId> FromCenters(Layer& layer, const Priors& priors, const Halves& given,
                             TensorId sizes) {
  TENON_ASSIGN_OR_RETURN(TensorId center, layer.Binary(BinaryFunction::kAdd, priors.corners.first,
                                                       priors.corners.second));
  TENON_ASSIGN_OR_RETURN(center, layer.Binary(BinaryFunction::kMul, center, 0.5F));
  TENON_ASSIGN_OR_RETURN(const TensorId moved,
                         layer.Binary(BinaryFunction::kMul, given.first, sizes));
  TENON_ASSIGN_OR_RETURN(center, layer.Binary(BinaryFunction::kAdd, moved, center));
  TENON_ASSIGN_OR_RETURN(TensorId half, layer.Unary(given.second, UnaryFunction::kExp));
  TENON_ASSIGN_OR_RETURN(half, layer.Binary(BinaryFunction::kMul, half, sizes));
  TENON_ASSIGN_OR_RETURN(half, layer.Binary(BinaryFunction::kMul, half, 0.5F));
  TENON_ASSIGN_OR_RETURN(const TensorId low, layer.Binary(BinaryFunction::kSub, center, half));
  TENON_ASSIGN_OR_RETURN(const TensorId high, layer.Binary(BinaryFunction::kAdd, center, half));
  return Joined(layer, {low, high});
}

/// Corners x, y, x, y of the boxes, [boxes, 4].
Result<TensorId> DecodedBoxes(Layer& layer, const format::DetectionOutput& given, int64_t boxes) {
  TENON_ASSIGN_OR_RETURN(const TensorId bottom, layer.Bottom(0));
  TENON_ASSIGN_OR_RETURN(TensorId location, layer.Reshape(bottom, {boxes, 4}));
  TENON_ASSIGN_OR_RETURN(const Priors priors, ReadPriors(layer, boxes));
  if (!given.variance_encoded_in_target()) {
    TENON_ASSIGN_OR_RETURN(location,
                           layer.Binary(BinaryFunction::kMul, location, priors.variances));
  }
  TENON_ASSIGN_OR_RETURN(const Halves differences, HalvesOf(layer, location));
  if (given.code_type() == format::CORNER) return FromCorners(layer, priors, differences, kNone);
  TENON_ASSIGN_OR_RETURN(
      const TensorId sizes,
      layer.Binary(BinaryFunction::kSub, priors.corners.second, priors.corners.first));
  return given.code_type() == format::CENTER_SIZE ? FromCenters(layer, priors, differences, sizes)
                                                  : FromCorners(layer, priors, differences, sizes);
}

/// The classes that are looked for, and how many boxes of each.
struct Candidates {
  std::vector<float> labels;
  int32_t of_each = 0;
  TensorId boxes = kNone;   ///< [classes * of_each, 4]
  TensorId scores = kNone;  ///< [classes * of_each], of a class by descending score

  [[nodiscard]] auto classes() const { return static_cast<int32_t>(labels.size()); }
  [[nodiscard]] int32_t count() const { return classes() * of_each; }
};

Result<Candidates> BestOfEachClass(Layer& layer, const format::DetectionOutput& given,
                                   int32_t boxes, TensorId decoded) {
  Candidates best;
  const auto all = static_cast<int32_t>(given.num_classes());
  for (int32_t label = 0; label < all; ++label) {
    if (label != given.background_label_id()) best.labels.push_back(static_cast<float>(label));
  }
  const int32_t most = given.nms_param().top_k();
  best.of_each = most > 0 ? std::min(most, boxes) : boxes;
  TENON_ASSIGN_OR_RETURN(const TensorId bottom, layer.Bottom(1));
  TENON_ASSIGN_OR_RETURN(TensorId scores, layer.Reshape(bottom, {boxes, all}));
  TENON_ASSIGN_OR_RETURN(scores, layer.Transpose(scores, {1, 0}));
  const Ints rows(best.labels.begin(), best.labels.end());
  TENON_ASSIGN_OR_RETURN(
      scores, Gather(layer, scores, Integers(layer, "classes", Shape({best.classes()}), rows)));
  TENON_ASSIGN_OR_RETURN(const TensorId places, TopK(layer, scores, 1, best.of_each, false));
  Ints starts(rows.size());
  for (size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<int64_t>(i) * boxes;
  TENON_ASSIGN_OR_RETURN(
      const TensorId flat_places,
      layer.Binary(BinaryFunction::kAdd, places,
                   Integers(layer, "starts", Shape({best.classes(), 1}), starts)));
  TENON_ASSIGN_OR_RETURN(const TensorId flat,
                         layer.Reshape(scores, {int64_t{best.classes()} * boxes}));
  TENON_ASSIGN_OR_RETURN(best.scores, Gather(layer, flat, flat_places));
  TENON_ASSIGN_OR_RETURN(best.scores, layer.Reshape(best.scores, {best.count()}));
  TENON_ASSIGN_OR_RETURN(best.boxes, Gather(layer, decoded, places));
  TENON_ASSIGN_OR_RETURN(best.boxes, layer.Reshape(best.boxes, {best.count(), 4}));
  return best;
}

/// Rows that the suppression leaves: the class of each, its place among the candidates (0 where
/// there is nothing), and whether it is there.
struct Kept {
  TensorId of = kNone;        ///< i64 [rows]
  TensorId place = kNone;     ///< i64 [rows]
  TensorId is_there = kNone;  ///< bool [rows]
  int32_t rows = 0;
};

Result<Kept> Suppressed(Layer& layer, const format::DetectionOutput& given,
                        const Candidates& candidates) {
  const int32_t classes = candidates.classes();
  const int32_t each = candidates.of_each;
  TENON_ASSIGN_OR_RETURN(const TensorId boxes, layer.Reshape(candidates.boxes, {classes, each, 4}));
  TENON_ASSIGN_OR_RETURN(const TensorId scores,
                         layer.Reshape(candidates.scores, {classes, 1, each}));
  Ints in_order(static_cast<size_t>(candidates.count()));
  for (size_t i = 0; i < in_order.size(); ++i) in_order[i] = static_cast<int64_t>(i) % each;
  NonMaxSuppressionAttributes attributes;
  attributes.rows = candidates.count();
  attributes.most_of_class = each;
  attributes.overlap = given.nms_param().nms_threshold();
  attributes.least_score = given.confidence_threshold();
  attributes.by_score = given.has_confidence_threshold() ? 1 : 0;
  TENON_ASSIGN_OR_RETURN(
      const TensorId rows,
      layer.Emit(OpKind::kNonMaxSuppression,
                 {boxes, scores, Integers(layer, "order", Shape({classes, 1, each}), in_order)},
                 Attributes(attributes)));
  Kept kept;
  kept.rows = candidates.count();
  const TensorId zero = Integers(layer, "zero", Shape(), {0});
  TENON_ASSIGN_OR_RETURN(TensorId of, Columns(layer, rows, 0, 1));
  TENON_ASSIGN_OR_RETURN(of, layer.Reshape(of, {kept.rows}));
  TENON_ASSIGN_OR_RETURN(kept.is_there, layer.Binary(BinaryFunction::kGreaterOrEqual, of, zero));
  TENON_ASSIGN_OR_RETURN(kept.of, WhereThere(layer, kept.is_there, of, zero));
  TENON_ASSIGN_OR_RETURN(TensorId place, Columns(layer, rows, 2, 1));
  TENON_ASSIGN_OR_RETURN(place, layer.Reshape(place, {kept.rows}));
  TENON_ASSIGN_OR_RETURN(
      const TensorId start,
      layer.Binary(BinaryFunction::kMul, of, Integers(layer, "each", Shape(), {each})));
  TENON_ASSIGN_OR_RETURN(place, layer.Binary(BinaryFunction::kAdd, place, start));
  TENON_ASSIGN_OR_RETURN(kept.place, WhereThere(layer, kept.is_there, place, zero));
  return kept;
}

/// The `count` rows with the largest scores, in the order that they had.
Result<Kept> BestRows(Layer& layer, const Candidates& candidates, const Kept& kept, int32_t count) {
  if (count >= kept.rows) return kept;
  TENON_ASSIGN_OR_RETURN(TensorId scores, Gather(layer, candidates.scores, kept.place));
  const TensorId lowest = layer.Constant("lowest", Shape(), {std::numeric_limits<float>::lowest()});
  TENON_ASSIGN_OR_RETURN(scores, WhereThere(layer, kept.is_there, scores, lowest));
  TENON_ASSIGN_OR_RETURN(const TensorId best, TopK(layer, scores, 0, count, false));
  TENON_ASSIGN_OR_RETURN(const TensorId sorted, TopK(layer, best, 0, count, true));
  TENON_ASSIGN_OR_RETURN(const TensorId rows, Gather(layer, best, sorted));
  Kept fewer;
  fewer.rows = count;
  TENON_ASSIGN_OR_RETURN(fewer.of, Gather(layer, kept.of, rows));
  TENON_ASSIGN_OR_RETURN(fewer.place, Gather(layer, kept.place, rows));
  TENON_ASSIGN_OR_RETURN(fewer.is_there, Gather(layer, kept.is_there, rows));
  return fewer;
}

/// Image (0), label, score, x, y, x, y of each row.
Result<TensorId> Detections(Layer& layer, const Candidates& candidates, const Kept& kept) {
  const int32_t rows = kept.rows;
  const TensorId image =
      layer.Constant("image", Shape({rows, 1}), std::vector<float>(static_cast<size_t>(rows), 0));
  const TensorId labels =
      layer.Constant("labels", Shape({candidates.classes()}), candidates.labels);
  TENON_ASSIGN_OR_RETURN(TensorId label, Gather(layer, labels, kept.of));
  TENON_ASSIGN_OR_RETURN(label, layer.Reshape(label, {rows, 1}));
  TENON_ASSIGN_OR_RETURN(TensorId score, Gather(layer, candidates.scores, kept.place));
  TENON_ASSIGN_OR_RETURN(score, layer.Reshape(score, {rows, 1}));
  TENON_ASSIGN_OR_RETURN(const TensorId boxes, Gather(layer, candidates.boxes, kept.place));
  TENON_ASSIGN_OR_RETURN(const TensorId found, Joined(layer, {image, label, score, boxes}));
  TENON_ASSIGN_OR_RETURN(const TensorId is_there, layer.Reshape(kept.is_there, {rows, 1}));
  TENON_ASSIGN_OR_RETURN(const TensorId y, WhereThere(layer, is_there, found,
                                                      layer.Constant("nothing", Shape(), {-1.0F})));
  return layer.Reshape(y, {1, 1, rows, 7});
}

Status CheckOperands(Layer& layer, const format::DetectionOutput& given, int64_t boxes) {
  for (int i = 0; i < 2; ++i) {
    TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(i));
    const int64_t of_each = i == 0 ? 4 : int64_t{given.num_classes()};
    if (layer.ShapeOf(x)[0] != 1) return InputError("only batches of one image are supported");
    if (layer.ShapeOf(x).Elements() != boxes * of_each) {
      return InputError("its input {} has {} elements for {} boxes", i, layer.ShapeOf(x).Elements(),
                        boxes);
    }
  }
  return {};
}

// Locations, confidences, prior boxes.
Status LowerDetectionOutput(Layer& layer) {
  const format::DetectionOutput& given = layer.stored().detection_output_param();
  constexpr int64_t kMostRows = 1 << 20;
  if (!given.share_location()) return InputError("share_location: false is not supported");
  if (given.nms_param().eta() != 1.0F) return InputError("an eta below 1 is not supported");
  TENON_ASSIGN_OR_RETURN(const TensorId priors, layer.Bottom(2));
  const Shape shape = layer.ShapeOf(priors);
  if (shape.rank != 3 || shape[0] != 1 || shape[1] != 2 || shape[2] < 4 || shape[2] % 4 != 0) {
    return InputError("its prior boxes are not [1, 2, 4 * boxes]");
  }
  const int32_t boxes = shape[2] / 4;
  const int64_t classes = given.num_classes();
  if (classes < 2 || classes * boxes > kMostRows) {
    return InputError("{} classes of {} boxes are out of range", classes, boxes);
  }
  TENON_RETURN_IF_ERROR(CheckOperands(layer, given, boxes));
  TENON_ASSIGN_OR_RETURN(TensorId decoded, DecodedBoxes(layer, given, boxes));
  if (given.clip()) {
    TENON_ASSIGN_OR_RETURN(decoded, layer.Unary(decoded, UnaryFunction::kClip, 0.0F, 1.0F));
  }
  TENON_ASSIGN_OR_RETURN(const Candidates candidates,
                         BestOfEachClass(layer, given, boxes, decoded));
  TENON_ASSIGN_OR_RETURN(const Kept suppressed, Suppressed(layer, given, candidates));
  const int32_t most = given.keep_top_k() > 0 ? given.keep_top_k() : suppressed.rows;
  TENON_ASSIGN_OR_RETURN(const Kept kept, BestRows(layer, candidates, suppressed, most));
  TENON_ASSIGN_OR_RETURN(const TensorId y, Detections(layer, candidates, kept));
  return layer.SetTop(0, y);
}

constexpr LoweringRow kDetectionOutputLowerings[] = {
    {"DetectionOutput", LowerDetectionOutput,
     "one image; share_location; eta 1; as many rows as may be kept, -1 where nothing is"},
};

}  // namespace

constexpr Span<const LoweringRow> kDetectionOutputRows = kDetectionOutputLowerings;

}  // namespace tenon::converter::caffe

// Normalisations that ONNX Runtime's optimiser puts together: of com.microsoft, and, without a
// domain, SimplifiedLayerNormalization, which ONNX has as RMSNormalization since operator set 23.
#include "converter/import/import_graph.hpp"
#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/normalised.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

/// Which of a node's inputs and outputs belong to the normalisation; those that are kNone are not
/// there.
struct NormPlaces {
  int scale = kNone;
  int bias = kNone;
  int mean = kNone;     ///< an output
  int inverse = kNone;  ///< an output: 1 / deviation
};

/// x normalised along its dimensions from `axis` on, the first output. Statistics of f16 are f32.
Status EmitNorm(Lowering& node, TensorId x, int32_t axis, double epsilon, bool around_zero,
                const NormPlaces& places) {
  const DType dtype = node.DTypeOf(x);
  const std::vector<int32_t> axes = AxisRange(axis, node.ShapeOf(x).rank);
  TENON_ASSIGN_OR_RETURN(const TensorId stashed,
                         node.Cast(x, dtype == DType::kF16 ? DType::kF32 : dtype));
  TENON_ASSIGN_OR_RETURN(const Normalised parts,
                         around_zero ? StatisticsAroundZero(node, stashed, axes, epsilon)
                                     : Statistics(node, stashed, axes, epsilon));
  if (places.mean != kNone && node.OutputUsed(places.mean)) {
    if (parts.mean != kNone) {
      node.Alias(places.mean, parts.mean);
    } else {  // 0 is taken for it
      const Shape shape = node.ShapeOf(parts.deviation);
      TENON_RETURN_IF_ERROR(node.ConstantOutput(
          places.mean,
          TensorData{DType::kF32, shape,
                     std::vector<std::byte>(static_cast<size_t>(shape.Elements()) * 4)}));
    }
  }
  if (places.inverse != kNone && node.OutputUsed(places.inverse)) {
    TENON_RETURN_IF_ERROR(
        node.Unary(parts.deviation, {UnaryFunction::kReciprocal, 0.0F, 0.0F}, places.inverse)
            .status());
  }
  TENON_ASSIGN_OR_RETURN(TensorId y,
                         node.Binary(BinaryFunction::kDiv, parts.centred, parts.deviation));
  TENON_ASSIGN_OR_RETURN(y, node.Cast(y, dtype));
  TENON_ASSIGN_OR_RETURN(const TensorId scale, node.Input(places.scale));
  TensorId bias = kNone;
  if (places.bias != kNone && node.HasInput(places.bias)) {
    TENON_ASSIGN_OR_RETURN(bias, node.Input(places.bias));
  }
  return ScaleAndShift(node, y, scale, bias);
}

constexpr float kFusedEpsilon = 1e-12F;  ///< where com.microsoft has a default of its own

Status LowerSimplified(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(node.Int("axis", -1), node.ShapeOf(x).rank));
  node.Ignore({"stash_type"});
  NormPlaces places;
  places.scale = 1;
  places.inverse = 1;
  return EmitNorm(node, x, axis, node.Float("epsilon", 1e-5F), true, places);
}

// Of the sum of input, skip and bias, which is an output too.
Status LowerSkip(Lowering& node) {
  enum : int { kX, kSkip, kScale, kFirstOfVersion };
  constexpr int kSum = 3;
  const bool simplified = node.op_type() == "SkipSimplifiedLayerNormalization";
  const int bias = simplified ? kFirstOfVersion : kFirstOfVersion + 1;
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(kX));
  TENON_ASSIGN_OR_RETURN(const TensorId skip, node.Input(kSkip));
  const Shape shape = node.ShapeOf(x);
  if (shape.rank < 1) return InputError("its input is a scalar");
  TENON_ASSIGN_OR_RETURN(TensorId sum, node.Binary(BinaryFunction::kAdd, x, skip));
  if (node.HasInput(bias)) {
    TENON_ASSIGN_OR_RETURN(const TensorId addend, node.Input(bias));
    TENON_ASSIGN_OR_RETURN(sum, node.Binary(BinaryFunction::kAdd, sum, addend));
  }
  if (node.ShapeOf(sum) != shape)
    return InputError("what is added has more elements than its input");
  node.Alias(kSum, sum);
  NormPlaces places;
  places.scale = kScale;
  places.bias = simplified ? kNone : kFirstOfVersion;
  places.mean = 1;
  places.inverse = 2;
  return EmitNorm(node, sum, shape.rank - 1, node.Float("epsilon", kFusedEpsilon), simplified,
                  places);
}

enum EmbedInput : int {
  kIds,
  kSegments,
  kWords,
  kPositionTable,
  kSegmentRows,
  kGamma,
  kBeta,
  kMask,
  kPositionIds
};

/// Rows of a table, none of which counts from its end.
Result<TensorId> RowsAt(Lowering& node, TensorId table, TensorId ids, std::string_view name) {
  TENON_ASSIGN_OR_RETURN(ids, NotNegative(node, ids, name));
  return EmitGather(node, table, ids, 0);
}

/// Rows of the positions for `length` words: those that an input names, else the first ones.
Result<TensorId> PositionRows(Lowering& node, int64_t length) {
  TENON_ASSIGN_OR_RETURN(const TensorId table, node.Input(kPositionTable));
  if (node.HasInput(kPositionIds)) {
    TENON_ASSIGN_OR_RETURN(const TensorId ids, node.Input(kPositionIds));
    return RowsAt(node, table, ids, "position_ids");
  }
  const Shape shape = node.ShapeOf(table);
  if (shape.rank != 2 || shape[0] < length) {
    return InputError("there are not {} positions in its table", length);
  }
  return node.Slice(table, SliceAlong(shape, 0, 0, length));
}

/// How many words of each sequence count: those whose mask is 1.
Status MaskCounts(Lowering& node, int64_t sequences) {
  constexpr int kCounts = 1;
  if (!node.OutputUsed(kCounts)) return {};
  if (!node.HasInput(kMask)) {
    TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims({sequences}));
    return node.ConstantOutput(
        kCounts,
        TensorData{DType::kI32, shape, std::vector<std::byte>(static_cast<size_t>(sequences) * 4)});
  }
  TENON_ASSIGN_OR_RETURN(const TensorId mask, node.Input(kMask));
  TENON_ASSIGN_OR_RETURN(const TensorId one, node.Scalar("one", node.DTypeOf(mask), 1));
  TENON_ASSIGN_OR_RETURN(const TensorId counts, node.Binary(BinaryFunction::kEqual, mask, one));
  TENON_ASSIGN_OR_RETURN(const TensorId numbers, node.Cast(counts, DType::kI32));
  return node.Reduce(ReduceFunction::kSum, numbers, {1}, false, kCounts).status();
}

// Rows for words, positions and segments are added, then normalised.
Status LowerEmbed(Lowering& node) {
  constexpr int kSum = 2;
  if (node.Int("mask_index_type", 0) > 1) return InputError("its mask_index_type is not supported");
  TENON_ASSIGN_OR_RETURN(const TensorId ids, node.Input(kIds));
  TENON_ASSIGN_OR_RETURN(const TensorId words, node.Input(kWords));
  const Shape shape = node.ShapeOf(ids);
  if (shape.rank != 2) return InputError("its input_ids have {} dimensions, not 2", shape.rank);
  TENON_ASSIGN_OR_RETURN(TensorId sum, RowsAt(node, words, ids, "input_ids"));
  TENON_ASSIGN_OR_RETURN(const TensorId positions, PositionRows(node, shape[1]));
  TENON_ASSIGN_OR_RETURN(sum, node.Binary(BinaryFunction::kAdd, sum, positions));
  if (node.HasInput(kSegments)) {
    TENON_ASSIGN_OR_RETURN(const TensorId segments, node.Input(kSegments));
    TENON_ASSIGN_OR_RETURN(const TensorId table, node.Input(kSegmentRows));
    TENON_ASSIGN_OR_RETURN(const TensorId rows, RowsAt(node, table, segments, "segment_ids"));
    TENON_ASSIGN_OR_RETURN(sum, node.Binary(BinaryFunction::kAdd, sum, rows));
  }
  node.Alias(kSum, sum);
  TENON_RETURN_IF_ERROR(MaskCounts(node, shape[0]));
  NormPlaces places;
  places.scale = kGamma;
  places.bias = kBeta;
  return EmitNorm(node, sum, node.ShapeOf(sum).rank - 1, node.Float("epsilon", kFusedEpsilon),
                  false, places);
}

/// The sum of x and what SkipGroupNorm adds to it, its second output.
Result<TensorId> SumWithSkip(Lowering& node, TensorId x) {
  enum : int { kSkip = 3, kBias = 4 };
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(TensorId skip, node.Input(kSkip));
  if (node.ShapeOf(skip).rank == 2) {  // one row for each image
    TENON_ASSIGN_OR_RETURN(skip, node.Reshape(skip, {shape[0], 1, 1, shape[3]}));
  }
  TENON_ASSIGN_OR_RETURN(TensorId sum, node.Binary(BinaryFunction::kAdd, x, skip));
  if (node.HasInput(kBias)) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(kBias));
    TENON_ASSIGN_OR_RETURN(sum, node.Binary(BinaryFunction::kAdd, sum, bias));
  }
  node.Alias(1, sum);
  return sum;
}

// Channels in groups, which stand last, or second where channels_last is 0; with an activation,
// silu behind it.
Status LowerGroupNorm(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId gamma, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId beta, node.Input(2));
  const bool channels_last = node.Flag("channels_last", true);
  if (node.ShapeOf(x).rank != 4) return InputError("its input must have four dimensions");
  if (node.op_type() == "SkipGroupNorm") {
    if (!channels_last) return InputError("channels_last 0 is not supported");
    TENON_ASSIGN_OR_RETURN(x, SumWithSkip(node, x));
  }
  const DType dtype = node.DTypeOf(x);
  if (channels_last) {
    TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, {0, 3, 1, 2}));
  }
  const Shape shape = node.ShapeOf(x);
  const int64_t groups = node.Int("groups", 0);
  if (groups < 1 || shape[1] % groups != 0 || shape.Elements() == 0) {
    return InputError("{} groups do not divide the channels of its input", groups);
  }
  const int64_t size = shape.Elements() / (shape[0] * groups);
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Cast(x, DType::kF32));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, {shape[0], groups, size}));
  TENON_ASSIGN_OR_RETURN(const Normalised parts,
                         Statistics(node, y, {2}, node.Float("epsilon", 1e-5F)));
  TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kDiv, parts.centred, parts.deviation));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, DimsOf(shape)));
  TensorId parameters[] = {gamma, beta};
  for (TensorId& parameter : parameters) {
    TENON_ASSIGN_OR_RETURN(parameter, node.Cast(parameter, DType::kF32));
    TENON_ASSIGN_OR_RETURN(parameter, node.Reshape(parameter, {shape[1], 1, 1}));
  }
  TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kMul, y, parameters[0]));
  TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kAdd, y, parameters[1]));
  if (node.Flag("activation", false)) {
    TENON_ASSIGN_OR_RETURN(y, node.Unary(y, {UnaryFunction::kSilu, 0.0F, 0.0F}));
  }
  if (channels_last) {
    TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {0, 2, 3, 1}));
  }
  TENON_ASSIGN_OR_RETURN(y, node.Cast(y, dtype));
  node.Alias(0, y);
  return {};
}

constexpr LoweringRow kFusedNormalisationRows[] = {
    {"EmbedLayerNormalization", LowerEmbed, "com.microsoft"},
    {"GroupNorm", LowerGroupNorm, "com.microsoft"},
    {"RMSNormalization", LowerSimplified},
    {"SimplifiedLayerNormalization", LowerSimplified},
    {"SkipGroupNorm", LowerGroupNorm, "com.microsoft", "channels_last 1"},
    {"SkipLayerNormalization", LowerSkip, "com.microsoft"},
    {"SkipSimplifiedLayerNormalization", LowerSkip, "com.microsoft"},
};

}  // namespace

constexpr Span<const LoweringRow> kFusedNormalisationLowerings = kFusedNormalisationRows;

}  // namespace tenon::converter

// Pools: of maxima, of averages and of p-norms, by windows and over all of an image.
#include <algorithm>
#include <limits>
#include <numeric>

#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/onnx/ops/pool_indices.hpp"
#include "converter/import/onnx/ops/volume.hpp"
#include "converter/import/onnx/ops/window.hpp"

namespace tenon::converter {
namespace {

/// With ceil_mode a window also stands over an image that it reaches beyond by less than its
/// stride. Longer padding behind the image means the same, but where padding counts.
void ReachOverImage(const Shape& x, PoolAttributes& attributes) {
  if (attributes.ceil_mode == 0 || attributes.count_include_pad != 0) return;
  for (int32_t i = 0; i < 2; ++i) {
    const int32_t axis = x.rank - 2 + i;
    const int64_t extent = axis < 2 ? 1 : x[axis];
    const int64_t window = int64_t{attributes.kernel[i] - 1} * attributes.dilations[i] + 1;
    const int64_t beyond = window - (extent + attributes.pads[i] + attributes.pads[2 + i]);
    if (beyond > 0 && beyond < attributes.strides[i]) {
      attributes.pads[2 + i] += static_cast<int32_t>(beyond);
    }
  }
}

Status LowerPool(Lowering& node, OpKind kind) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  PoolAttributes attributes;
  attributes.ceil_mode = node.Flag("ceil_mode", false) ? 1 : 0;
  if (kind == OpKind::kAveragePool) {
    attributes.count_include_pad = node.Flag("count_include_pad", false) ? 1 : 0;
  }
  if (shape.rank == 5 && !(kind == OpKind::kMaxPool && node.OutputUsed(1))) {
    TENON_ASSIGN_OR_RETURN(const std::vector<WindowSpan> spans,
                           ReadSpans(node, shape, node.Ints("kernel_shape")));
    return EmitVolumePool(node, kind, x, spans, attributes, 0).status();
  }
  TENON_ASSIGN_OR_RETURN(const Window window, ReadWindow(node, shape, node.Ints("kernel_shape")));
  SetWindow(window, attributes);
  std::copy_n(window.kernel, 2, attributes.kernel);
  ReachOverImage(shape, attributes);
  if (kind == OpKind::kMaxPool && node.OutputUsed(1)) {
    if (shape.rank != 4)
      return InputError("its indices are not supported for an input of rank {}", shape.rank);
    const bool columns_first = node.Int("storage_order", 0) != 0;
    TENON_RETURN_IF_ERROR(EmitMaxPoolIndices(node, x, attributes, columns_first));
  }
  TENON_ASSIGN_OR_RETURN(x, WithHeight(node, x));
  return EmitWindowed(node, kind, {x}, Attributes(attributes), shape.rank == 3).status();
}

Status LowerMaxPool(Lowering& node) {
  node.Ignore({"storage_order"});  // of the indices: read where they are wanted
  return LowerPool(node, OpKind::kMaxPool);
}

// Of bytes whose channels come last.
Status LowerNhwcMaxPool(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  if (node.ShapeOf(x).rank != 4) return InputError("its input must have four dimensions");
  TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, {0, 3, 1, 2}));
  PoolAttributes attributes;
  attributes.ceil_mode = node.Flag("ceil_mode", false) ? 1 : 0;
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const Window window, ReadWindow(node, shape, node.Ints("kernel_shape")));
  SetWindow(window, attributes);
  std::copy_n(window.kernel, 2, attributes.kernel);
  ReachOverImage(shape, attributes);
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kMaxPool, {x}, Attributes(attributes)));
  return node.Transpose(y, {0, 2, 3, 1}, 0).status();
}

Status LowerAveragePool(Lowering& node) { return LowerPool(node, OpKind::kAveragePool); }

// --- Norms ---------------------------------------------------------------------------------------

/// The attribute p.
Result<double> ReadOrder(Lowering& node) {
  const double p =
      node.opset() < 2 ? double{node.Float("p", 2.0F)} : static_cast<double>(node.Int("p", 2));
  if (!(p > 0)) return InputError("its p is {}, not above 0", p);
  return p;
}

/// |x|^p
Result<TensorId> Power(Lowering& node, TensorId x, double p) {
  if (p == 2) return node.Binary(BinaryFunction::kMul, x, x);
  TENON_ASSIGN_OR_RETURN(const TensorId size, node.Unary(x, {UnaryFunction::kAbs, 0.0F, 0.0F}));
  if (p == 1) return size;
  TENON_ASSIGN_OR_RETURN(const TensorId exponent, node.Scalar("p", node.DTypeOf(x), p));
  return node.Binary(BinaryFunction::kPow, size, exponent);
}

/// x^(1 / p), the first output.
Status EmitRoot(Lowering& node, TensorId x, double p) {
  if (p == 2) return node.Unary(x, {UnaryFunction::kSqrt, 0.0F, 0.0F}, 0).status();
  TENON_ASSIGN_OR_RETURN(const TensorId exponent, node.Scalar("root", node.DTypeOf(x), 1 / p));
  return node.Binary(BinaryFunction::kPow, x, exponent, 0).status();
}

/// With ceil_mode a last window stands where it begins over the image or the padding before it:
/// padding behind the image that is as long as it needs means the same.
void ReachToCeiling(int64_t extent, WindowSpan& span) {
  const int64_t window = int64_t{span.kernel - 1} * span.dilation + 1;
  const int64_t room = extent + span.begin + span.end - window;
  if (room < 0) return;
  int64_t last = (room + span.stride - 1) / span.stride * span.stride;  // where it begins
  if (last >= extent + span.begin) last -= span.stride;
  const int64_t end = span.end + std::max<int64_t>(0, last - room);
  if (end <= std::numeric_limits<int32_t>::max()) span.end = static_cast<int32_t>(end);
}

// The root of as many times the average as a window has places: padding, which is 0, counts.
Status LowerLpPool(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const double p, ReadOrder(node));
  TENON_ASSIGN_OR_RETURN(std::vector<WindowSpan> spans,
                         ReadSpans(node, shape, node.Ints("kernel_shape")));
  const bool to_ceiling = node.Flag("ceil_mode", false);
  double places = 1;
  for (size_t i = 0; i < spans.size(); ++i) {
    places *= spans[i].kernel;
    if (to_ceiling) ReachToCeiling(shape[static_cast<int32_t>(i) + 2], spans[i]);
  }
  PoolAttributes attributes;
  attributes.count_include_pad = 1;
  TENON_ASSIGN_OR_RETURN(x, Power(node, x, p));
  if (shape.rank == 5) {
    TENON_ASSIGN_OR_RETURN(
        x, EmitVolumePool(node, OpKind::kAveragePool, x, spans, attributes, kIntermediate));
  } else {
    constexpr WindowSpan kOne = {1, 1, 1, 0, 0};
    const Window window =
        spans.size() == 1 ? WindowOf(kOne, spans[0]) : WindowOf(spans[0], spans[1]);
    SetWindow(window, attributes);
    std::copy_n(window.kernel, 2, attributes.kernel);
    TENON_ASSIGN_OR_RETURN(x, WithHeight(node, x));
    TENON_ASSIGN_OR_RETURN(x, EmitWindowed(node, OpKind::kAveragePool, {x}, Attributes(attributes),
                                           shape.rank == 3, kIntermediate));
  }
  TENON_ASSIGN_OR_RETURN(x, Scaled(node, x, places));
  return EmitRoot(node, x, p);
}

Status LowerGlobalLpPool(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  const int32_t rank = node.ShapeOf(x).rank;
  if (rank < 3) return InputError("its input has {} dimensions, no spatial one", rank);
  TENON_ASSIGN_OR_RETURN(const double p, ReadOrder(node));
  std::vector<int32_t> axes(static_cast<size_t>(rank - 2));
  std::iota(axes.begin(), axes.end(), 2);
  TENON_ASSIGN_OR_RETURN(x, Power(node, x, p));
  TENON_ASSIGN_OR_RETURN(x, node.Reduce(ReduceFunction::kSum, x, axes, true));
  return EmitRoot(node, x, p);
}

// --- Pools of whole images -----------------------------------------------------------------------

Status LowerGlobalPool(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const int32_t rank = node.ShapeOf(x).rank;
  if (rank < 3) return InputError("its input has {} dimensions, no spatial one", rank);
  std::vector<int32_t> axes(static_cast<size_t>(rank - 2));
  std::iota(axes.begin(), axes.end(), 2);
  const auto function =
      node.op_type() == "GlobalMaxPool" ? ReduceFunction::kMax : ReduceFunction::kMean;
  return node.Reduce(function, x, axes, true, 0).status();
}

constexpr LoweringRow kPoolRows[] = {
    {"AveragePool", LowerAveragePool, {}, kProductLimits},
    {"GlobalAveragePool", LowerGlobalPool},
    {"GlobalLpPool", LowerGlobalLpPool, {}, kProductLimits},
    {"GlobalMaxPool", LowerGlobalPool, {}, "a NaN gives NaN, where ONNX Runtime leaves it out"},
    {"LpPool", LowerLpPool, {}, kProductLimits},
    {"MaxPool",
     LowerMaxPool,
     {},
     "not f64; indices of images of two dimensions only; a window that holds NaN gives NaN, where "
     "ONNX Runtime may leave it out"},
    {"NhwcMaxPool", LowerNhwcMaxPool, "com.microsoft"},
};

}  // namespace

constexpr Span<const LoweringRow> kPoolLowerings = kPoolRows;

}  // namespace tenon::converter

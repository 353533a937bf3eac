// MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool.
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
    return LowerVolumePool(node, kind, x, attributes);
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

Status LowerAveragePool(Lowering& node) { return LowerPool(node, OpKind::kAveragePool); }

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

constexpr LoweringRow kRows[] = {
    {"AveragePool", LowerAveragePool, {}, kProductLimits},
    {"GlobalAveragePool", LowerGlobalPool},
    {"GlobalMaxPool", LowerGlobalPool, {}, "a NaN gives NaN, where ONNX Runtime leaves it out"},
    {"MaxPool",
     LowerMaxPool,
     {},
     "not f64; indices of images of two dimensions only; a window that holds NaN gives NaN, where "
     "ONNX Runtime may leave it out"},
};

}  // namespace

constexpr Span<const LoweringRow> kPoolLowerings = kRows;

}  // namespace tenon::converter

#include "converter/import/onnx/ops/volume.hpp"

#include <algorithm>

#include "converter/import/depth_taps.hpp"

namespace tenon::converter {
namespace {

struct Axis {
  enum : int { kDepth = 0, kHeight = 1, kWidth = 2 };
};

Result<TensorId> Pooled(Lowering& node, OpKind kind, TensorId x, const Window& window,
                        PoolAttributes attributes) {
  SetWindow(window, attributes);
  std::copy_n(window.kernel, 2, attributes.kernel);
  return node.Emit(kind, {x}, Attributes(attributes));
}

/// The largest of each window along the first dimension, which is not padded.
Result<TensorId> LargestOfDepth(Lowering& node, TensorId x, const WindowSpan& depth) {
  const Shape shape = node.ShapeOf(x);
  const int32_t extent = (depth.kernel - 1) * depth.dilation + 1;
  const int32_t places = (shape[0] - extent) / depth.stride + 1;
  TensorId largest = kNone;
  for (int32_t tap = 0; tap < depth.kernel; ++tap) {
    TENON_ASSIGN_OR_RETURN(
        const TensorId seen,
        node.Slice(x, SliceAlong(shape, 0, tap * depth.dilation, places, depth.stride)));
    if (largest == kNone) {
      largest = seen;
    } else {
      TENON_ASSIGN_OR_RETURN(largest, node.Binary(BinaryFunction::kMax, largest, seen));
    }
  }
  return largest;
}

/// Returns whether the volume is best pooled as images, one of each depth: where it is one, few of
/// them are compared, and no window reaches beyond the last.
bool IsPooledAsImages(OpKind kind, const Shape& x, const WindowSpan& depth, bool to_ceiling) {
  constexpr int32_t kMostTaps = 4;
  if (x[0] != 1 || depth.begin != 0 || depth.end != 0) return false;
  if (depth.kernel == 1 && depth.stride == 1) return true;
  const int64_t beyond_first = x[2] - (int64_t{depth.kernel - 1} * depth.dilation + 1);
  return kind == OpKind::kMaxPool && depth.kernel <= kMostTaps && beyond_first >= 0 &&
         !(to_ceiling && beyond_first % depth.stride != 0);
}

/// See ConvolveVolume, which has its images in the same order.
Result<TensorId> PoolImages(Lowering& node, OpKind kind, TensorId x,
                            const std::vector<WindowSpan>& spans, const PoolAttributes& attributes,
                            int output) {
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, {0, 2, 1, 3, 4}));
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {shape[2], shape[1], shape[3], shape[4]}));
  TENON_ASSIGN_OR_RETURN(
      x, Pooled(node, kind, x, WindowOf(spans[Axis::kHeight], spans[Axis::kWidth]), attributes));
  if (spans[Axis::kDepth].kernel > 1 || spans[Axis::kDepth].stride > 1) {
    TENON_ASSIGN_OR_RETURN(x, LargestOfDepth(node, x, spans[Axis::kDepth]));
  }
  const Shape image = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {1, image[0], image[1], image[2], image[3]}));
  return node.Transpose(x, {0, 2, 1, 3, 4}, output);
}

}  // namespace

Result<TensorId> EmitVolumePool(Lowering& node, OpKind kind, TensorId x,
                                const std::vector<WindowSpan>& spans,
                                const PoolAttributes& attributes, int output) {
  const Shape shape = node.ShapeOf(x);
  if (IsPooledAsImages(kind, shape, spans[Axis::kDepth], attributes.ceil_mode != 0)) {
    return PoolImages(node, kind, x, spans, attributes, output);
  }
  TENON_ASSIGN_OR_RETURN(
      x, node.Reshape(x, {shape[0], int64_t{shape[1]} * shape[2], shape[3], shape[4]}));
  TENON_ASSIGN_OR_RETURN(
      x, Pooled(node, kind, x, WindowOf(spans[Axis::kHeight], spans[Axis::kWidth]), attributes));
  const int64_t height = node.ShapeOf(x)[2];
  const int64_t width = node.ShapeOf(x)[3];
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {shape[0], shape[1], shape[2], height * width}));
  constexpr WindowSpan kOne = {1, 1, 1, 0, 0};
  TENON_ASSIGN_OR_RETURN(x, Pooled(node, kind, x, WindowOf(spans[Axis::kDepth], kOne), attributes));
  return node.Reshape(x, {shape[0], shape[1], node.ShapeOf(x)[2], height, width}, output);
}

Result<TensorId> EmitVolumeConv(Lowering& node, TensorId x, TensorId w, int output) {
  const Shape shape = node.ShapeOf(x);
  const Shape weights = node.ShapeOf(w);
  if (weights.rank != 5) return InputError("its weights have {} dimensions, not 5", weights.rank);
  TENON_ASSIGN_OR_RETURN(const std::vector<WindowSpan> spans,
                         ReadSpans(node, shape, {weights.dims + 2, weights.dims + 5}));
  const std::vector<int64_t> declared = node.Ints("kernel_shape");
  if (!declared.empty() && !std::equal(declared.begin(), declared.end(), weights.dims + 2)) {
    return InputError("kernel_shape is not that of its weights");
  }
  ConvAttributes attributes;
  attributes.group = node.Int32("group", 1);
  SetWindow(WindowOf(spans[Axis::kHeight], spans[Axis::kWidth]), attributes);
  TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, {0, 2, 1, 3, 4}));
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> taps, volumes::DepthTaps(node, w));
  TensorId bias = kNone;
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(bias, node.Input(2));
  }
  const WindowSpan& depth = spans[Axis::kDepth];
  TENON_ASSIGN_OR_RETURN(
      const TensorId y,
      volumes::ConvolveVolume(node, x, taps, bias,
                              {depth.stride, depth.dilation, depth.begin, depth.end}, attributes));
  return node.Transpose(y, {0, 2, 1, 3, 4}, output);
}

}  // namespace tenon::converter

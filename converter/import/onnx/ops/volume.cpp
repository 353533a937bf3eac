#include "converter/import/onnx/ops/volume.hpp"

#include <algorithm>

namespace tenon::converter {
namespace {

enum : int { kDepth = 0, kHeight = 1, kWidth = 2 };

Result<TensorId> Pooled(Lowering& node, OpKind kind, TensorId x, const Window& window,
                        PoolAttributes attributes) {
  SetWindow(window, attributes);
  std::copy_n(window.kernel, 2, attributes.kernel);
  return node.Emit(kind, {x}, Attributes(attributes));
}

/// x [N, D, C, H, W] with the padding of its depth.
Result<TensorId> WithDepthPadded(Lowering& node, TensorId x, const WindowSpan& depth) {
  if (depth.begin == 0 && depth.end == 0) return x;
  PadAttributes pad;
  pad.rank = 5;
  pad.begins[1] = depth.begin;
  pad.ends[1] = depth.end;
  return node.Emit(OpKind::kPad, {x}, Attributes(pad));
}

/// What tap `tap` of the depth sees of x [N, D, C, H, W], as images [N * places, C, H, W].
Result<TensorId> SeenByTap(Lowering& node, TensorId x, const WindowSpan& depth, int32_t tap,
                           int32_t places) {
  const Shape shape = node.ShapeOf(x);
  SliceAttributes slice;
  slice.rank = 5;
  for (int i = 0; i < 5; ++i) {
    slice.sizes[i] = shape[i];
    slice.steps[i] = 1;
  }
  slice.begins[1] = tap * depth.dilation;
  slice.sizes[1] = places;
  slice.steps[1] = depth.stride;
  TENON_ASSIGN_OR_RETURN(const TensorId seen, node.Slice(x, slice));
  return node.Reshape(seen, {int64_t{shape[0]} * places, shape[2], shape[3], shape[4]});
}

/// The weights of one tap of the depth, [M, C, H, W].
Result<TensorId> WeightsOfTap(Lowering& node, TensorId w, int32_t tap) {
  const Shape shape = node.ShapeOf(w);
  SliceAttributes slice;
  slice.rank = 5;
  for (int i = 0; i < 5; ++i) {
    slice.sizes[i] = shape[i];
    slice.steps[i] = 1;
  }
  slice.begins[2] = tap;
  slice.sizes[2] = 1;
  TENON_ASSIGN_OR_RETURN(const TensorId weights, node.Slice(w, slice));
  return node.Reshape(weights, {shape[0], shape[1], shape[3], shape[4]});
}

/// How many windows fit; 0 where none does.
int32_t PlacesOf(const WindowSpan& span, int64_t size) {
  const int64_t extent = (int64_t{span.kernel} - 1) * span.dilation + 1;
  return size < extent ? 0 : static_cast<int32_t>((size - extent) / span.stride + 1);
}

}  // namespace

Status LowerVolumePool(Lowering& node, OpKind kind, TensorId x, PoolAttributes attributes) {
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const std::vector<WindowSpan> spans,
                         ReadSpans(node, shape, node.Ints("kernel_shape")));
  TENON_ASSIGN_OR_RETURN(
      x, node.Reshape(x, {shape[0], int64_t{shape[1]} * shape[2], shape[3], shape[4]}));
  TENON_ASSIGN_OR_RETURN(
      x, Pooled(node, kind, x, WindowOf(spans[kHeight], spans[kWidth]), attributes));
  const int64_t height = node.ShapeOf(x)[2];
  const int64_t width = node.ShapeOf(x)[3];
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {shape[0], shape[1], shape[2], height * width}));
  constexpr WindowSpan kOne = {1, 1, 1, 0, 0};
  TENON_ASSIGN_OR_RETURN(x, Pooled(node, kind, x, WindowOf(spans[kDepth], kOne), attributes));
  return node.Reshape(x, {shape[0], shape[1], node.ShapeOf(x)[2], height, width}, 0).status();
}

Status LowerVolumeConv(Lowering& node, TensorId x, TensorId w) {
  const Shape shape = node.ShapeOf(x);
  const Shape weights = node.ShapeOf(w);
  if (weights.rank != 5) return InputError("its weights have {} dimensions, not 5", weights.rank);
  TENON_ASSIGN_OR_RETURN(const std::vector<WindowSpan> spans,
                         ReadSpans(node, shape, {weights.dims + 2, weights.dims + 5}));
  const std::vector<int64_t> declared = node.Ints("kernel_shape");
  if (!declared.empty() && !std::equal(declared.begin(), declared.end(), weights.dims + 2)) {
    return InputError("kernel_shape is not that of its weights");
  }
  const WindowSpan& depth = spans[kDepth];
  const int32_t places = PlacesOf(depth, int64_t{shape[2]} + depth.begin + depth.end);
  if (places == 0) return InputError("its window does not fit into the depth of its input");
  ConvAttributes attributes;
  attributes.group = node.Int32("group", 1);
  SetWindow(WindowOf(spans[kHeight], spans[kWidth]), attributes);
  TENON_ASSIGN_OR_RETURN(TensorId images, node.Transpose(x, {0, 2, 1, 3, 4}));
  TENON_ASSIGN_OR_RETURN(images, WithDepthPadded(node, images, depth));
  TensorId sum = kNone;
  for (int32_t tap = 0; tap < depth.kernel; ++tap) {
    std::vector<TensorId> inputs(2);
    TENON_ASSIGN_OR_RETURN(inputs[ConvInput::kX], SeenByTap(node, images, depth, tap, places));
    TENON_ASSIGN_OR_RETURN(inputs[ConvInput::kWeights], WeightsOfTap(node, w, tap));
    if (tap == 0 && node.HasInput(2)) {
      TENON_ASSIGN_OR_RETURN(inputs.emplace_back(), node.Input(2));
    }
    TENON_ASSIGN_OR_RETURN(const TensorId y,
                           node.Emit(OpKind::kConv, inputs, Attributes(attributes)));
    if (sum != kNone) {
      TENON_ASSIGN_OR_RETURN(sum, node.Binary(BinaryFunction::kAdd, sum, y));
    } else {
      sum = y;
    }
  }
  const Shape image = node.ShapeOf(sum);
  TENON_ASSIGN_OR_RETURN(sum, node.Reshape(sum, {shape[0], places, image[1], image[2], image[3]}));
  return node.Transpose(sum, {0, 2, 1, 3, 4}, 0).status();
}

}  // namespace tenon::converter

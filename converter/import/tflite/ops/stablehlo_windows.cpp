// STABLEHLO_CONVOLUTION and STABLEHLO_REDUCE_WINDOW: windows over any dimensions.
#include <algorithm>

#include "converter/import/depth_taps.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "converter/ir/shapes.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Dims = std::vector<int64_t>;
using Longs = flatbuffers::Vector<int64_t>;
using Op = format::BuiltinOperator;
using phases::Extent;

/// The `count` numbers of the option `name`, from `least` to kMostExtent; absent: `absent` each.
Result<Dims> Read(const char* name, const Longs* values, size_t count, int64_t absent,
                  int64_t least) {
  if (values == nullptr || values->size() == 0) return Dims(count, absent);
  const auto sound = [&](int64_t value) { return value >= least && value <= kMostExtent; };
  if (values->size() != count || !std::all_of(values->begin(), values->end(), sound)) {
    return InputError("its {} must be {} numbers from {} to {}", name, count, least, kMostExtent);
  }
  return Dims(values->begin(), values->end());
}

/// Where in a tensor the two dimensions in front and the spatial ones are; true if each is once.
bool IsPermutation(const std::vector<int32_t>& dims) {
  std::vector<int32_t> sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int32_t>(i)) return false;
  }
  return true;
}

Result<std::vector<int32_t>> Permutation(int64_t first, int64_t second, const Longs* spatial,
                                         size_t count) {
  TENON_ASSIGN_OR_RETURN(const Dims others, Read("spatial dimensions", spatial, count, -1, 0));
  std::vector<int32_t> permutation;
  for (const int64_t dim : {first, second}) {
    if (dim < 0 || dim > kMostExtent) return InputError("its dimension numbers are out of range");
    permutation.push_back(static_cast<int32_t>(dim));
  }
  for (const int64_t dim : others) permutation.push_back(static_cast<int32_t>(dim));
  if (!IsPermutation(permutation)) return InputError("its dimension numbers are out of range");
  return permutation;
}

/// One spatial dimension of a convolution.
struct Along {
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t spread = 1;  ///< distance of the input's elements (lhs_dilation)
  int64_t before = 0;
  int64_t after = 0;
  bool reversed = false;
};

/// Depth, height and width; those in front are 1 where there are fewer.
struct GeneralConv {
  TensorId x = kNone;  ///< [N, C, D, H, W]
  TensorId w = kNone;  ///< [M, C / group, D, H, W]
  Along along[3];
  int32_t group = 1;
  std::vector<int32_t> from_output;  ///< where the output has N, M and the spatial dimensions
  bool transposed = false;
};

constexpr size_t kMostSpatial = 3;

/// With dimensions of 1 behind the first two, up to three spatial ones.
Result<TensorId> AsVolume(Node& node, TensorId x) {
  const Shape shape = node.ShapeOf(x);
  Dims dims(shape.dims, shape.dims + shape.rank);
  dims.insert(dims.begin() + 2, kMostSpatial + 2 - dims.size(), 1);
  return node.Reshape(x, dims);
}

Status ReadAlong(const format::StablehloConvolutionOptions& options, size_t count,
                 GeneralConv& conv) {
  TENON_ASSIGN_OR_RETURN(const Dims strides,
                         Read("window_strides", options.window_strides(), count, 1, 1));
  TENON_ASSIGN_OR_RETURN(const Dims pads,
                         Read("padding", options.padding(), 2 * count, 0, -kMostExtent));
  TENON_ASSIGN_OR_RETURN(const Dims spreads,
                         Read("lhs_dilation", options.lhs_dilation(), count, 1, 1));
  TENON_ASSIGN_OR_RETURN(const Dims dilations,
                         Read("rhs_dilation", options.rhs_dilation(), count, 1, 1));
  const auto* reversal = options.window_reversal();
  for (size_t i = 0; i < count; ++i) {
    Along& along = conv.along[kMostSpatial - count + i];
    along.stride = strides[i];
    along.dilation = dilations[i];
    along.spread = spreads[i];
    along.before = pads[2 * i];
    along.after = pads[2 * i + 1];
    along.reversed =
        reversal != nullptr && i < reversal->size() && reversal->Get(static_cast<uint32_t>(i)) != 0;
    conv.transposed |= along.spread > 1;
  }
  return {};
}

Result<GeneralConv> ReadGeneralConv(Node& node,
                                    const format::StablehloConvolutionOptions& options) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId w, node.Input(1));
  const int32_t rank = node.ShapeOf(x).rank;
  if (rank < 3 || rank > 5 || node.ShapeOf(w).rank != rank) {
    return InputError("its input has {} dimensions; only one to three spatial ones are supported",
                      rank);
  }
  const auto count = static_cast<size_t>(rank) - 2;
  GeneralConv conv;
  TENON_ASSIGN_OR_RETURN(
      const std::vector<int32_t> of_x,
      Permutation(options.input_batch_dimension(), options.input_feature_dimension(),
                  options.input_spatial_dimensions(), count));
  TENON_ASSIGN_OR_RETURN(const std::vector<int32_t> of_w,
                         Permutation(options.kernel_output_feature_dimension(),
                                     options.kernel_input_feature_dimension(),
                                     options.kernel_spatial_dimensions(), count));
  TENON_ASSIGN_OR_RETURN(conv.from_output, Permutation(options.output_batch_dimension(),
                                                       options.output_feature_dimension(),
                                                       options.output_spatial_dimensions(), count));
  TENON_ASSIGN_OR_RETURN(conv.x, node.Transpose(x, of_x));
  TENON_ASSIGN_OR_RETURN(conv.x, AsVolume(node, conv.x));
  TENON_ASSIGN_OR_RETURN(conv.w, node.Transpose(w, of_w));
  TENON_ASSIGN_OR_RETURN(conv.w, AsVolume(node, conv.w));
  TENON_RETURN_IF_ERROR(ReadAlong(options, count, conv));
  const int64_t group = options.feature_group_count();
  const Shape image = node.ShapeOf(conv.x);
  const Shape weights = node.ShapeOf(conv.w);
  const bool fits = group >= 1 && group <= image[1] && image[1] == group * weights[1] &&
                    weights[0] % group == 0 && options.batch_group_count() == 1;
  if (!fits) {
    return InputError("its weights do not fit {} channels in {} groups", image[1], group);
  }
  conv.group = static_cast<int32_t>(group);
  return conv;
}

Result<TensorId> Reversed(Node& node, TensorId w, int32_t axis) {
  const Shape shape = node.ShapeOf(w);
  const int32_t size = shape[axis];
  return size < 2 ? w : node.Slice(w, SliceAlong(shape, axis, size - 1, size, -1));
}

/// [N, D, M, H, W] of a convolution whose input is dense.
Result<TensorId> Convolve(Node& node, const GeneralConv& conv) {
  ConvAttributes image;
  image.group = conv.group;
  for (size_t i = 0; i < 2; ++i) {
    const Along& along = conv.along[i + 1];
    image.strides[i] = static_cast<int32_t>(along.stride);
    image.dilations[i] = static_cast<int32_t>(along.dilation);
    image.pads[i] = static_cast<int32_t>(along.before);
    image.pads[2 + i] = static_cast<int32_t>(along.after);
  }
  TensorId w = conv.w;
  for (int32_t i = 0; i < 3; ++i) {
    const Along& along = conv.along[i];
    if (along.before < 0 || along.after < 0) return InputError("its padding is negative");
    if (along.reversed) {
      TENON_ASSIGN_OR_RETURN(w, Reversed(node, w, i + 2));
    }
  }
  const Along& depth = conv.along[0];
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Transpose(conv.x, {0, 2, 1, 3, 4}));
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> taps, volumes::DepthTaps(node, w));
  return volumes::ConvolveVolume(
      node, x, taps, kNone,
      {static_cast<int32_t>(depth.stride), static_cast<int32_t>(depth.dilation),
       static_cast<int32_t>(depth.before), static_cast<int32_t>(depth.after)},
      image);
}

/// Elements that lie `spread` apart: y[o] = sum over k of x[i] w[k] with i spread = o + k dilation
/// - before, which is a transposed convolution with the window in reverse.
Result<Extent> ExtentOf(const Along& along, int64_t input, int64_t taps) {
  Extent e;
  e.input = input;
  e.taps = taps;
  e.kernel = (taps - 1) * along.dilation + 1;
  e.stride = along.spread;
  e.dilation = along.dilation;
  e.before = e.kernel - 1 - along.before;
  e.output = (input - 1) * along.spread + 1 + along.before + along.after - e.kernel + 1;
  if (along.stride != 1 || e.kernel > kMostExtent || e.before < 0 || e.output < 1 ||
      e.output > kMostExtent) {
    return InputError("its window over a spread input has a stride or more padding than taps");
  }
  return e;
}

/// [M, C / group, ...] as [C, M / group, ...].
Result<TensorId> InputsFirst(Node& node, TensorId w, int64_t group) {
  const Shape s = node.ShapeOf(w);
  TENON_ASSIGN_OR_RETURN(w, node.Reshape(w, {group, s[0] / group, s[1], s[2], s[3], s[4]}));
  TENON_ASSIGN_OR_RETURN(w, node.Transpose(w, {0, 2, 1, 3, 4, 5}));
  return node.Reshape(w, {group * s[1], s[0] / group, s[2], s[3], s[4]});
}

Result<TensorId> ConvolveSpread(Node& node, const GeneralConv& conv) {
  const Shape shape = node.ShapeOf(conv.x);
  const Shape weights = node.ShapeOf(conv.w);
  volumes::TransposedExtents e;
  TENON_ASSIGN_OR_RETURN(e.depth, ExtentOf(conv.along[0], shape[2], weights[2]));
  TENON_ASSIGN_OR_RETURN(e.height, ExtentOf(conv.along[1], shape[3], weights[3]));
  TENON_ASSIGN_OR_RETURN(e.width, ExtentOf(conv.along[2], shape[4], weights[4]));
  TENON_ASSIGN_OR_RETURN(TensorId w, InputsFirst(node, conv.w, conv.group));
  for (int32_t i = 0; i < 3; ++i) {
    if (conv.along[i].reversed) continue;
    TENON_ASSIGN_OR_RETURN(w, Reversed(node, w, i + 2));
  }
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Transpose(conv.x, {0, 2, 1, 3, 4}));
  return volumes::ConvolveTransposedVolume(node, x, w, kNone, conv.group, e);
}

/// What a window of one dimension takes.
struct Slide {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;
  int64_t after = 0;

  [[nodiscard]] bool DoesNothing() const {
    return size == 1 && stride == 1 && before == 0 && after == 0;
  }
};

/// The windows of a pool's rows (0) or columns (1).
void SetSlide(const Slide& slide, int axis, PoolAttributes& pool) {
  pool.kernel[axis] = static_cast<int32_t>(slide.size);
  pool.strides[axis] = static_cast<int32_t>(slide.stride);
  pool.dilations[axis] = static_cast<int32_t>(slide.dilation);
  pool.pads[axis] = static_cast<int32_t>(slide.before);
  pool.pads[2 + axis] = static_cast<int32_t>(slide.after);
}

/// The function over windows of x's dimension `axis`, the others being batch and width; with
/// `columns` over those of the next one too, which is the last.
Result<TensorId> ReduceAlong(Node& node, TensorId x, int32_t axis, const Slide& rows,
                             const Slide* columns, Op op) {
  const Shape shape = node.ShapeOf(x);
  int64_t outer = 1;
  int64_t inner = 1;
  for (int32_t k = 0; k < shape.rank; ++k) (k < axis ? outer : inner) *= k == axis ? 1 : shape[k];
  PoolAttributes pool;
  pool.count_include_pad = 1;
  SetSlide(rows, 0, pool);
  SetSlide(columns == nullptr ? Slide() : *columns, 1, pool);
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Reshape(x, {outer, 1, shape[axis], inner}));
  TENON_ASSIGN_OR_RETURN(
      y, node.Emit(op == Op::ADD ? OpKind::kAveragePool : OpKind::kMaxPool, {y}, Attributes(pool)));
  if (op == Op::ADD) {
    const auto count = static_cast<double>(int64_t{pool.kernel[0]} * pool.kernel[1]);
    const TensorId size = node.Scalar("size", node.DTypeOf(y), count);
    TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kMul, y, size));
  }
  Dims dims(shape.dims, shape.dims + shape.rank);
  dims[static_cast<size_t>(axis)] = node.ShapeOf(y)[2];
  if (columns != nullptr) dims[static_cast<size_t>(axis) + 1] = node.ShapeOf(y)[3];
  return node.Reshape(y, dims);
}

/// The function over windows of every dimension, the last two at once.
Result<TensorId> ReduceWindows(Node& node, TensorId x, const std::vector<Slide>& slides, Op op) {
  const auto rank = static_cast<int32_t>(slides.size());
  const bool pair = rank >= 2 && !slides[slides.size() - 1].DoesNothing();
  for (int32_t axis = 0; axis < rank - (pair ? 1 : 0); ++axis) {
    const Slide& slide = slides[static_cast<size_t>(axis)];
    const Slide* next = pair && axis == rank - 2 ? &slides[static_cast<size_t>(axis) + 1] : nullptr;
    if (next == nullptr && slide.DoesNothing()) continue;
    TENON_ASSIGN_OR_RETURN(x, ReduceAlong(node, x, axis, slide, next, op));
  }
  return x;
}

/// ADD, MAXIMUM or MINIMUM.
Result<Op> BodyOf(const Node& node, int32_t index) {
  const format::SubGraph* graph = node.GraphAt(index);
  if (graph != nullptr && graph->operators()->size() == 1) {
    switch (node.OperatorOf(*graph->operators()->Get(0))) {
      case Op::ADD:
      case Op::STABLEHLO_ADD:
        return Op::ADD;
      case Op::MAXIMUM:
      case Op::STABLEHLO_MAXIMUM:
        return Op::MAXIMUM;
      case Op::MINIMUM:
      case Op::STABLEHLO_MINIMUM:
        return Op::MINIMUM;
      default:
        break;
    }
  }
  return InputError("its body is not one that adds or compares");
}

Result<std::vector<Slide>> ReadSlides(const format::StablehloReduceWindowOptions& options,
                                      size_t rank) {
  TENON_ASSIGN_OR_RETURN(const Dims sizes,
                         Read("window_dimensions", options.window_dimensions(), rank, 1, 1));
  TENON_ASSIGN_OR_RETURN(const Dims strides,
                         Read("window_strides", options.window_strides(), rank, 1, 1));
  TENON_ASSIGN_OR_RETURN(const Dims spreads,
                         Read("base_dilations", options.base_dilations(), rank, 1, 1));
  TENON_ASSIGN_OR_RETURN(const Dims dilations,
                         Read("window_dilations", options.window_dilations(), rank, 1, 1));
  TENON_ASSIGN_OR_RETURN(const Dims pads, Read("padding", options.padding(), 2 * rank, 0, 0));
  std::vector<Slide> slides(rank);
  for (size_t k = 0; k < rank; ++k) {
    if (spreads[k] != 1) return InputError("its base_dilations are not 1");
    slides[k] = {sizes[k], strides[k], dilations[k], pads[2 * k], pads[2 * k + 1]};
  }
  return slides;
}

}  // namespace

Status LowerGeneralConv(Node& node) {
  const auto* options = node.stored().builtin_options_2_as_StablehloConvolutionOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const GeneralConv conv, ReadGeneralConv(node, *options));
  TENON_ASSIGN_OR_RETURN(TensorId y,
                         conv.transposed ? ConvolveSpread(node, conv) : Convolve(node, conv));
  TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {0, 2, 1, 3, 4}));
  const Shape volume = node.ShapeOf(y);
  Dims dims = {volume[0], volume[1]};
  const auto spatial = static_cast<int32_t>(conv.from_output.size()) - 2;
  dims.insert(dims.end(), volume.dims + volume.rank - spatial, volume.dims + volume.rank);
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, dims));
  std::vector<int32_t> to_output(conv.from_output.size());
  for (size_t k = 0; k < to_output.size(); ++k) {
    to_output[static_cast<size_t>(conv.from_output[k])] = static_cast<int32_t>(k);
  }
  TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, to_output));
  return node.SetOutput(0, y);
}

// x, what every window begins with.
Status LowerReduceWindow(Node& node) {
  const auto* options = node.stored().builtin_options_2_as_StablehloReduceWindowOptions();
  if (options == nullptr) return InputError("its options are missing");
  if (node.InputCount() != 2) return InputError("it has {} operands, not 2", node.InputCount());
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId first, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const Op body, BodyOf(node, options->body_subgraph_index()));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const std::vector<Slide> slides,
                         ReadSlides(*options, static_cast<size_t>(shape.rank)));
  if (body == Op::ADD) {
    TENON_ASSIGN_OR_RETURN(const std::vector<double> begin, node.Doubles(1));
    if (begin.size() != 1 || begin[0] != 0.0) return InputError("its sums do not begin with 0");
  }
  const UnaryAttributes negate = {UnaryFunction::kNeg, 0.0F, 0.0F};
  TensorId y = x;
  if (body == Op::MINIMUM) {
    TENON_ASSIGN_OR_RETURN(y, node.Unary(y, negate));
  }
  TENON_ASSIGN_OR_RETURN(y, ReduceWindows(node, y, slides, body));
  if (body == Op::MINIMUM) {
    TENON_ASSIGN_OR_RETURN(y, node.Unary(y, negate));
  }
  if (body != Op::ADD) {
    const auto function = body == Op::MAXIMUM ? BinaryFunction::kMax : BinaryFunction::kMin;
    TENON_ASSIGN_OR_RETURN(y, node.Binary(function, y, first));
  }
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite

// Resize and Upsample.
#include <algorithm>
#include <cmath>
#include <limits>

#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/onnx/ops/resize_by_weights.hpp"

namespace tenon::converter {
namespace {

Result<ResizeMode> ReadResizeMode(Lowering& node) {
  const std::string mode = node.Text("mode", "nearest");
  if (mode == "nearest") return ResizeMode::kNearest;
  if (mode == "linear" || mode == "bilinear") return ResizeMode::kLinear;
  if (mode == "cubic") return ResizeMode::kCubic;
  return InputError("mode '{}' is not supported", mode);
}

Result<CoordinateMode> ReadCoordinates(Lowering& node) {
  const std::string mode = node.Text("coordinate_transformation_mode", "half_pixel");
  // They differ only where a scale gives no whole size, which EmitSymmetricResize is for.
  if (mode == "half_pixel" || mode == "half_pixel_symmetric") return CoordinateMode::kHalfPixel;
  if (mode == "pytorch_half_pixel") return CoordinateMode::kPytorchHalfPixel;
  if (mode == "align_corners") return CoordinateMode::kAlignCorners;
  if (mode == "asymmetric") return CoordinateMode::kAsymmetric;
  if (mode == "tf_crop_and_resize") return CoordinateMode::kAlignCorners;  // of its regions
  return InputError("coordinate_transformation_mode '{}' is not supported", mode);
}

Result<NearestMode> ReadNearest(Lowering& node) {
  const std::string mode = node.Text("nearest_mode", "round_prefer_floor");
  if (mode == "round_prefer_floor") return NearestMode::kRoundPreferFloor;
  if (mode == "round_prefer_ceil") return NearestMode::kRoundPreferCeil;
  if (mode == "floor") return NearestMode::kFloor;
  if (mode == "ceil") return NearestMode::kCeil;
  return InputError("nearest_mode '{}' is not supported", mode);
}

/// tf_half_pixel_for_nn (opset 11) puts o at (o + 0.5) / scale, half an element above half_pixel:
/// floor(h + 0.5) rounds h half up, and rounding h + 0.5 half down is ceil(h).
Status SetCoordinates(Lowering& node, ResizeAttributes& attributes) {
  TENON_ASSIGN_OR_RETURN(attributes.nearest, ReadNearest(node));
  const bool shifted =
      node.Text("coordinate_transformation_mode", "half_pixel") == "tf_half_pixel_for_nn";
  if (shifted && attributes.mode == ResizeMode::kNearest) {
    if (attributes.nearest == NearestMode::kFloor) {
      attributes.nearest = NearestMode::kRoundPreferCeil;
      return {};
    }
    if (attributes.nearest == NearestMode::kRoundPreferFloor) {
      attributes.nearest = NearestMode::kCeil;
      return {};
    }
  }
  TENON_ASSIGN_OR_RETURN(attributes.coordinates, ReadCoordinates(node));
  return {};
}

/// Output sizes from scales: floor(size * scale), the product in f32 as ONNX Runtime takes it.
Status SetScales(ResizeAttributes& attributes, const Shape& x, const std::vector<int32_t>& axes,
                 const std::vector<float>& scales) {
  if (scales.size() != axes.size()) {
    return InputError("{} scales for {} dimensions", scales.size(), axes.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const float size = std::floor(static_cast<float>(x[axes[i]]) * scales[i]);
    if (!(scales[i] > 0.0F) || !(size < 2147483648.0F)) {
      return InputError("scale {} is out of range", scales[i]);
    }
    attributes.sizes[axes[i]] = static_cast<int32_t>(size);
    attributes.scales[axes[i]] = scales[i];
  }
  return {};
}

Status SetSizes(ResizeAttributes& attributes, const Shape& x, const std::vector<int32_t>& axes,
                const std::vector<int64_t>& sizes) {
  if (sizes.size() != axes.size()) {
    return InputError("{} sizes for {} dimensions", sizes.size(), axes.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const int32_t axis = axes[i];
    if (sizes[i] < 1 || sizes[i] > std::numeric_limits<int32_t>::max() || x[axis] < 1) {
      return InputError("size {} is out of range", sizes[i]);
    }
    attributes.sizes[axis] = static_cast<int32_t>(sizes[i]);
    attributes.scales[axis] =
        static_cast<float>(static_cast<double>(sizes[i]) / static_cast<double>(x[axis]));
  }
  return {};
}

/// With scales, ONNX's text maps o to o * (in - 1) / (in * scale - 1), where `in * scale` need not
/// be the output's length, which our op takes, as ONNX Runtime, OpenVINO and what exports models
/// do. Where the two differ and the text is wanted, the same mapping is written as an asymmetric
/// one with the scale (in * scale - 1) / (in - 1).
void AlignCorners(Lowering& node, ResizeAttributes& attributes, const Shape& x) {
  const auto scaled = [&](int32_t axis) {
    return static_cast<float>(x[axis]) * attributes.scales[axis];
  };
  bool whole = true;
  for (int32_t i = 0; i < x.rank; ++i) {
    whole &= scaled(i) == static_cast<float>(attributes.sizes[i]);
  }
  if (whole || attributes.coordinates != CoordinateMode::kAlignCorners) return;
  if (node.options().corners_by_sizes) return;
  node.Warn(
      "align_corners with a scale that gives no whole size: as ONNX's text has it; ONNX Runtime "
      "and PyTorch take the whole size: --align-corners=sizes");
  attributes.coordinates = CoordinateMode::kAsymmetric;
  for (int32_t i = 0; i < x.rank; ++i) {
    // One element on either side: the only coordinate is 0.
    const bool single = x[i] <= 1 || attributes.sizes[i] <= 1;
    attributes.scales[i] = single ? 1.0F : (scaled(i) - 1.0F) / (static_cast<float>(x[i]) - 1.0F);
  }
}

/// half_pixel_symmetric is half_pixel where the scaled size is whole.
bool IsSymmetricApart(Lowering& node, const ResizeAttributes& attributes, const Shape& x) {
  const std::string mode = node.Text("coordinate_transformation_mode", "half_pixel");
  if (mode != "half_pixel_symmetric") return false;
  for (int32_t i = 0; i < x.rank; ++i) {
    const float scaled = static_cast<float>(x[i]) * attributes.scales[i];
    if (scaled != static_cast<float>(attributes.sizes[i])) return true;
  }
  return false;
}

/// One scale for all axes (opset 18), such that no size is larger, or none smaller, than asked.
Status KeepAspectRatio(Lowering& node, ResizeAttributes& attributes, const Shape& x,
                       const std::vector<int32_t>& axes) {
  const std::string policy = node.Text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || axes.empty()) return {};
  if (policy != "not_larger" && policy != "not_smaller") {
    return InputError("keep_aspect_ratio_policy '{}' is not supported", policy);
  }
  float scale = attributes.scales[axes[0]];
  for (const int32_t axis : axes) {
    const float other = attributes.scales[axis];
    scale = policy == "not_larger" ? std::min(scale, other) : std::max(scale, other);
  }
  for (const int32_t axis : axes) {
    // Halves are rounded up. A dimension of one element keeps it.
    const float size = std::floor(static_cast<float>(x[axis]) * scale + 0.5F);
    attributes.scales[axis] = scale;
    attributes.sizes[axis] = std::max(static_cast<int32_t>(size), 1);
  }
  return {};
}

Result<std::vector<float>> ConstantFloats(Lowering& node, int index) {
  TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(index));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> values, node.ConstantDoubles(input));
  std::vector<float> floats(values.size());
  std::transform(values.begin(), values.end(), floats.begin(),
                 [](double value) { return static_cast<float>(value); });
  return floats;
}

/// Dimensions that scales or sizes speak of: all, or those in `axes` (opset 18).
Result<std::vector<int32_t>> ReadAxes(Lowering& node, int32_t rank) {
  std::vector<int64_t> axes = node.opset() >= 18 ? node.Ints("axes") : std::vector<int64_t>();
  if (axes.empty()) {
    for (int32_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  return node.Axes(axes, rank);
}

ResizeAttributes Unchanged(const Shape& x) {
  ResizeAttributes attributes;
  attributes.rank = x.rank;
  for (int32_t i = 0; i < x.rank; ++i) {
    attributes.sizes[i] = x[i];
    attributes.scales[i] = 1.0F;
  }
  return attributes;
}

/// Resizes one or two dimensions, which are brought to the end: interpolation goes over the last
/// two of four. `changed` holds their numbers, ascending.
Result<TensorId> InterpolateImages(Lowering& node, TensorId x, const ResizeAttributes& attributes,
                                   std::vector<int32_t> changed, int output) {
  const Shape shape = node.ShapeOf(x);
  // Nothing moves where the only one that changes is the last but one.
  if (changed.size() == 1 && changed[0] != shape.rank - 1) changed.push_back(shape.rank - 1);
  std::vector<int32_t> order;
  for (int32_t i = 0; i < shape.rank; ++i) {
    if (std::find(changed.begin(), changed.end(), i) == changed.end()) order.push_back(i);
  }
  order.insert(order.end(), changed.begin(), changed.end());
  TENON_ASSIGN_OR_RETURN(const TensorId moved, node.Transpose(x, order));
  const bool two = changed.size() == 2;
  const int64_t height = two ? shape[changed[0]] : 1;
  const int64_t width = shape[changed.back()];
  if (shape.Elements() == 0) return InputError("its input is empty");
  const int64_t images = shape.Elements() / (height * width);
  TENON_ASSIGN_OR_RETURN(const TensorId seen, node.Reshape(moved, {images, 1, height, width}));
  ResizeAttributes image = attributes;
  image.rank = 4;
  std::fill_n(image.sizes, 3, 1);
  std::fill_n(image.scales, 3, 1.0F);
  image.sizes[0] = static_cast<int32_t>(images);
  for (size_t i = 0; i < changed.size(); ++i) {
    const size_t to = i + 4 - changed.size();
    image.sizes[to] = attributes.sizes[changed[i]];
    image.scales[to] = attributes.scales[changed[i]];
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Emit(OpKind::kResize, {seen}, Attributes(image)));
  std::vector<int64_t> dims;
  std::vector<int32_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const bool changes = i + changed.size() >= order.size();
    dims.push_back(changes ? attributes.sizes[order[i]] : shape[order[i]]);
    back[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId unfolded, node.Reshape(y, dims));
  return node.Transpose(unfolded, back, output);
}

/// More than two dimensions are interpolated two by two, the last ones first: each output element
/// is a sum whose weights are products of one weight for each dimension.
Result<TensorId> EmitInterpolation(Lowering& node, TensorId x, ResizeAttributes attributes,
                                   int output) {
  const Shape shape = node.ShapeOf(x);
  std::vector<int32_t> changed;
  for (int32_t i = 0; i < shape.rank; ++i) {
    const bool same = attributes.scales[i] == 1.0F && attributes.sizes[i] == shape[i];
    if (!same) changed.push_back(i);
  }
  while (changed.size() > 2) {
    const std::vector<int32_t> last(changed.end() - 2, changed.end());
    changed.resize(changed.size() - 2);
    TENON_ASSIGN_OR_RETURN(x, InterpolateImages(node, x, attributes, last, kIntermediate));
    for (const int32_t axis : last) attributes.scales[axis] = 1.0F;  // it has its size now
  }
  return InterpolateImages(node, x, attributes, changed, output);
}

Result<TensorId> EmitResize(Lowering& node, TensorId x, const ResizeAttributes& attributes,
                            int output) {
  const Shape shape = node.ShapeOf(x);
  bool same = true;
  for (int32_t i = 0; i < shape.rank; ++i) {
    same &= attributes.scales[i] == 1.0F && attributes.sizes[i] == shape[i];
  }
  if (same) {
    if (output >= 0) node.Alias(output, x);
    return x;
  }
  const auto is_same = [&](int32_t axis) {
    return attributes.scales[axis] == 1.0F && attributes.sizes[axis] == shape[axis];
  };
  const bool images = shape.rank == 4 && is_same(0) && is_same(1);
  if (attributes.mode == ResizeMode::kNearest || images) {
    return node.Emit(OpKind::kResize, {x}, Attributes(attributes), output);
  }
  return EmitInterpolation(node, x, attributes, output);
}

/// The node's first output, which `resize(x, output)` makes. Integers are interpolated as floats
/// and cut off to whole numbers, as ONNX Runtime has it.
template <typename Resize>
Status EmitInFloats(Lowering& node, TensorId x, ResizeMode mode, const Resize& resize) {
  const DType dtype = node.DTypeOf(x);
  const bool integers = !IsFloat(dtype) && dtype != DType::kBool;
  const bool as_floats = mode == ResizeMode::kLinear && integers && DTypeBytes(dtype) <= 4;
  if (!as_floats) return resize(x, 0).status();
  TENON_ASSIGN_OR_RETURN(const TensorId floats, node.Cast(x, DType::kF32));
  TENON_ASSIGN_OR_RETURN(const TensorId y, resize(floats, kIntermediate));
  return node.Cast(y, dtype, 0).status();
}

/// Nearest elements: dimensions that grow take the one below, those that shrink the one above,
/// which `attributes` say if any shrinks.
Result<TensorId> EmitNearest(Lowering& node, TensorId x, ResizeAttributes attributes, int output) {
  const Shape shape = node.ShapeOf(x);
  const float* begin = attributes.scales;
  const float* end = begin + shape.rank;
  const bool grows = std::any_of(begin, end, [](float s) { return s > 1.0F; });
  if (!grows || attributes.nearest == NearestMode::kFloor) {
    return EmitResize(node, x, attributes, output);
  }
  ResizeAttributes growing = attributes;  // comes first
  growing.nearest = NearestMode::kFloor;
  for (int32_t i = 0; i < shape.rank; ++i) {
    ResizeAttributes& other = attributes.scales[i] > 1.0F ? attributes : growing;
    other.scales[i] = 1.0F;
    if (&other == &growing) growing.sizes[i] = shape[i];
  }
  TENON_ASSIGN_OR_RETURN(x, EmitResize(node, x, growing, kIntermediate));
  return EmitResize(node, x, attributes, output);
}

/// Upsample, and Resize of opset 10, which goes by its rules: asymmetric coordinates, and the
/// nearest element is the one below when growing, the one above when shrinking.
Status LowerAsymmetric(Lowering& node, const std::vector<float>& scales) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  ResizeAttributes attributes = Unchanged(shape);
  TENON_ASSIGN_OR_RETURN(attributes.mode, ReadResizeMode(node));
  attributes.coordinates = CoordinateMode::kAsymmetric;
  TENON_ASSIGN_OR_RETURN(const std::vector<int32_t> axes, ReadAxes(node, shape.rank));
  TENON_RETURN_IF_ERROR(SetScales(attributes, shape, axes, scales));
  const bool shrinks =
      std::any_of(scales.begin(), scales.end(), [](float scale) { return scale < 1.0F; });
  attributes.nearest = shrinks ? NearestMode::kCeil : NearestMode::kFloor;
  return EmitInFloats(node, x, attributes.mode, [&](TensorId given, int output) {
    return attributes.mode == ResizeMode::kNearest ? EmitNearest(node, given, attributes, output)
                                                   : EmitResize(node, given, attributes, output);
  });
}

Status CheckPolicies(Lowering& node) {
  if (node.Flag("antialias", false)) return InputError("antialias is not supported");
  return {};
}

/// The regions of tf_crop_and_resize, one for each of `axes`; empty in all other modes, to which
/// the input does not matter.
Result<std::vector<ResizedRegion>> ReadRegions(Lowering& node, const std::vector<int32_t>& axes) {
  std::vector<ResizedRegion> regions;
  if (node.Text("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize") {
    return regions;
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<float> bounds, ConstantFloats(node, 1));
  if (bounds.size() != 2 * axes.size()) {
    return InputError("{} bounds of regions for {} dimensions", bounds.size(), axes.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    regions.push_back({axes[i], bounds[i], bounds[axes.size() + i]});
  }
  return regions;
}

/// Scales are of the regions' sizes.
Status CropSizes(ResizeAttributes& attributes, const Shape& x,
                 const std::vector<ResizedRegion>& regions) {
  for (const ResizedRegion& region : regions) {
    const float size = std::floor(static_cast<float>(x[region.axis]) * (region.end - region.begin) *
                                  attributes.scales[region.axis]);
    if (!(size >= 1.0F) || !(size < 2147483648.0F)) {
      return InputError("the region of dimension {} has no size", region.axis);
    }
    attributes.sizes[region.axis] = static_cast<int32_t>(size);
  }
  return {};
}

Status LowerUpsample(Lowering& node) {
  if (node.opset() >= 9) {
    TENON_ASSIGN_OR_RETURN(const std::vector<float> scales, ConstantFloats(node, 1));
    return LowerAsymmetric(node, scales);
  }
  if (node.opset() >= 7) return LowerAsymmetric(node, node.Floats("scales"));
  // Of images [N, C, H, W] only.
  return LowerAsymmetric(
      node, {1.0F, 1.0F, node.Float("height_scale", 0.0F), node.Float("width_scale", 0.0F)});
}

Status LowerResize(Lowering& node) {
  if (node.opset() < 11) {
    TENON_ASSIGN_OR_RETURN(const std::vector<float> scales, ConstantFloats(node, 1));
    return LowerAsymmetric(node, scales);
  }
  TENON_RETURN_IF_ERROR(CheckPolicies(node));
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  ResizeAttributes attributes = Unchanged(shape);
  TENON_ASSIGN_OR_RETURN(attributes.mode, ReadResizeMode(node));
  TENON_RETURN_IF_ERROR(SetCoordinates(node, attributes));
  attributes.cubic_a = node.Float("cubic_coeff_a", -0.75F);
  attributes.exclude_outside = node.Flag("exclude_outside", false) ? 1 : 0;
  TENON_ASSIGN_OR_RETURN(const std::vector<int32_t> axes, ReadAxes(node, shape.rank));
  std::vector<float> scales;
  if (node.HasInput(2)) {
    // Opset 11 wants an empty tensor here where sizes are given.
    TENON_ASSIGN_OR_RETURN(scales, ConstantFloats(node, 2));
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<ResizedRegion> regions, ReadRegions(node, axes));
  const float outside = node.Float("extrapolation_value", 0.0F);
  if (!scales.empty()) {
    TENON_RETURN_IF_ERROR(SetScales(attributes, shape, axes, scales));
    TENON_RETURN_IF_ERROR(CropSizes(attributes, shape, regions));
    node.Ignore({"keep_aspect_ratio_policy"});
    if (regions.empty()) AlignCorners(node, attributes, shape);
  } else {
    TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(3));
    TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, node.ConstantInts(input));
    TENON_RETURN_IF_ERROR(SetSizes(attributes, shape, axes, sizes));
    TENON_RETURN_IF_ERROR(KeepAspectRatio(node, attributes, shape, axes));
  }
  const bool symmetric = IsSymmetricApart(node, attributes, shape);
  return EmitInFloats(node, x, attributes.mode, [&](TensorId given, int output) {
    if (!regions.empty()) {
      return EmitCroppedResize(node, given, attributes, regions, outside, output);
    }
    return symmetric ? EmitSymmetricResize(node, given, attributes, output)
                     : EmitResize(node, given, attributes, output);
  });
}

constexpr LoweringRow kResizeRows[] = {
    {"Resize",
     LowerResize,
     {},
     "sizes, scales, axes and roi constant; without antialias; linear f32, f16 and integers of up "
     "to "
     "32 bits, cubic f32 and f16"},
    {"Upsample",
     LowerUpsample,
     {},
     "scales constant; linear f32, f16 and integers of up to 32 bits"},
};

}  // namespace

constexpr Span<const LoweringRow> kResizeLowerings = kResizeRows;

}  // namespace tenon::converter

// Layers that move elements: Concat, Slice, Split, Permute, Flatten, Reshape, Interp, Upsample; and
// those that do nothing when a network is used.
#include "converter/ir/shapes.hpp"

#include <algorithm>
#include <vector>

#include "caffe_subset.pb.h"
#include "converter/import/caffe/lowering_table.hpp"
#include "converter/import/import_graph.hpp"

namespace tenon::converter::caffe {
namespace {

Status LowerIdentity(Layer& layer) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  for (int i = 0; i < layer.TopCount(); ++i) TENON_RETURN_IF_ERROR(layer.SetTop(i, x));
  return {};
}

Status LowerSilence(Layer&) { return {}; }

Status LowerConcat(Layer& layer) {
  const format::Concat& given = layer.stored().concat_param();
  std::vector<TensorId> inputs;
  for (int i = 0; i < layer.BottomCount(); ++i) {
    TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(i));
    inputs.push_back(x);
  }
  if (inputs.empty()) return InputError("it has no inputs");
  if (inputs.size() == 1) return LowerIdentity(layer);
  ConcatAttributes attributes;
  const int64_t axis = given.has_concat_dim() ? int64_t{given.concat_dim()} : given.axis();
  TENON_ASSIGN_OR_RETURN(attributes.axis, layer.Axis(axis, layer.ShapeOf(inputs[0]).rank));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         layer.Emit(OpKind::kConcat, inputs, Attributes(attributes)));
  return layer.SetTop(0, y);
}

/// Where parts begin, and the end: as given, or equal parts.
Result<std::vector<int32_t>> SlicePoints(Layer& layer, const format::Slice& given, int32_t size) {
  const int32_t tops = layer.TopCount();
  std::vector<int32_t> points = {0};
  if (given.slice_point().empty()) {
    if (tops == 0 || size % tops != 0) {
      return InputError("{} elements cannot be divided into {} equal parts", size, tops);
    }
    for (int32_t i = 1; i <= tops; ++i) points.push_back(size / tops * i);
    return points;
  }
  for (const uint32_t point : given.slice_point()) {
    if (point <= static_cast<uint32_t>(points.back()) || point >= static_cast<uint32_t>(size)) {
      return InputError("its slice points do not rise inside the {} elements", size);
    }
    points.push_back(static_cast<int32_t>(point));
  }
  points.push_back(size);
  if (static_cast<int32_t>(points.size()) != tops + 1) {
    return InputError("{} slice points for {} tops", given.slice_point_size(), tops);
  }
  return points;
}

Status LowerSlice(Layer& layer) {
  const format::Slice& given = layer.stored().slice_param();
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  const Shape shape = layer.ShapeOf(x);
  const int64_t wanted = given.has_slice_dim() ? int64_t{given.slice_dim()} : given.axis();
  TENON_ASSIGN_OR_RETURN(const int32_t axis, layer.Axis(wanted, shape.rank));
  TENON_ASSIGN_OR_RETURN(const std::vector<int32_t> points, SlicePoints(layer, given, shape[axis]));
  for (int i = 0; i < layer.TopCount(); ++i) {
    const auto part = static_cast<size_t>(i);
    const SliceAttributes attributes =
        SliceAlong(shape, axis, points[part], points[part + 1] - points[part]);
    TENON_ASSIGN_OR_RETURN(const TensorId y,
                           layer.Emit(OpKind::kSlice, {x}, Attributes(attributes)));
    TENON_RETURN_IF_ERROR(layer.SetTop(i, y));
  }
  return {};
}

/// Axes that the order does not name follow as they are.
Status LowerPermute(Layer& layer) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  const int32_t rank = layer.ShapeOf(x).rank;
  std::vector<int32_t> order;
  const auto add = [&](int32_t axis) {
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  };
  for (const uint32_t axis : layer.stored().permute_param().order()) {
    if (axis >= static_cast<uint32_t>(rank)) return InputError("there is no axis {}", axis);
    add(static_cast<int32_t>(axis));
  }
  for (int32_t axis = 0; axis < rank; ++axis) add(axis);
  TENON_ASSIGN_OR_RETURN(const TensorId y, layer.Transpose(x, order));
  return layer.SetTop(0, y);
}

Status LowerFlatten(Layer& layer) {
  const format::Axis& given = layer.stored().flatten_param();
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  const Shape shape = layer.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int32_t first, layer.Axis(given.axis(), shape.rank));
  TENON_ASSIGN_OR_RETURN(const int32_t last, layer.Axis(given.end_axis(), shape.rank));
  if (last < first) return InputError("its axes {} to {} are in the wrong order", first, last);
  std::vector<int64_t> dims = DimsOf(shape);
  int64_t flat = 1;
  for (int32_t i = first; i <= last; ++i) flat *= shape[i];
  dims.erase(dims.begin() + first, dims.begin() + last + 1);
  dims.insert(dims.begin() + first, flat);
  TENON_ASSIGN_OR_RETURN(const TensorId y, layer.Reshape(x, dims));
  return layer.SetTop(0, y);
}

/// Dims 0 are those of the input, -1 what is left; the dims before `axis` and behind `num_axes` of
/// them stay.
Status LowerReshape(Layer& layer) {
  const format::Reshape& given = layer.stored().reshape_param();
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  const Shape shape = layer.ShapeOf(x);
  const int64_t first = given.axis() < 0 ? int64_t{given.axis()} + shape.rank + 1 : given.axis();
  const int64_t end = given.num_axes() < 0 ? shape.rank : first + given.num_axes();
  if (first < 0 || first > shape.rank || end > shape.rank) {
    return InputError("its axes {} to {} are out of range for {} dimensions", first, end,
                      shape.rank);
  }
  std::vector<int64_t> dims(shape.dims, shape.dims + first);
  size_t open = SIZE_MAX;
  auto axis = static_cast<int32_t>(first);
  for (const int64_t dim : given.shape().dim()) {
    if (dim == -1 && open == SIZE_MAX) {
      open = dims.size();
      dims.push_back(1);
    } else if (dim == 0 && axis < shape.rank) {
      dims.push_back(shape[axis]);
    } else if (dim > 0) {
      dims.push_back(dim);
    } else {
      return InputError("its dimension {} is {}", dims.size(), dim);
    }
    ++axis;
  }
  dims.insert(dims.end(), shape.dims + end, shape.dims + shape.rank);
  if (open != SIZE_MAX) {
    TENON_ASSIGN_OR_RETURN(const Shape others, ShapeFromDims(dims));
    const int64_t known = others.Elements();
    if (known == 0 || shape.Elements() % known != 0) {
      return InputError("{} elements do not fit its dimensions", shape.Elements());
    }
    dims[open] = shape.Elements() / known;
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y, layer.Reshape(x, dims));
  return layer.SetTop(0, y);
}

Status EmitResize(Layer& layer, TensorId x, int64_t height, int64_t width, ResizeMode mode) {
  const Shape shape = layer.ShapeOf(x);
  if (height < 1 || width < 1 || height > (1 << 28) || width > (1 << 28)) {
    return InputError("it would make an image of {} x {}", height, width);
  }
  ResizeAttributes attributes;
  attributes.mode = mode;
  attributes.coordinates =
      mode == ResizeMode::kLinear ? CoordinateMode::kAlignCorners : CoordinateMode::kAsymmetric;
  attributes.nearest = NearestMode::kFloor;
  attributes.rank = 4;
  std::copy_n(shape.dims, 4, attributes.sizes);
  std::fill_n(attributes.scales, 4, 1.0F);
  attributes.sizes[2] = static_cast<int32_t>(height);
  attributes.sizes[3] = static_cast<int32_t>(width);
  for (const int axis : {2, 3}) {
    attributes.scales[axis] =
        static_cast<float>(attributes.sizes[axis]) / static_cast<float>(shape[axis]);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         layer.Emit(OpKind::kResize, {x}, Attributes(attributes)));
  return layer.SetTop(0, y);
}

/// Bilinear, corners on corners.
Status LowerInterp(Layer& layer) {
  const format::Interp& given = layer.stored().interp_param();
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  const Shape shape = layer.ShapeOf(x);
  if (shape.rank != 4) return InputError("its input has {} dimensions, not 4", shape.rank);
  if (given.pad_beg() != 0 || given.pad_end() != 0) return InputError("padding is not supported");
  if (layer.BottomCount() > 1) {
    TENON_ASSIGN_OR_RETURN(const TensorId like, layer.Bottom(1));
    const Shape wanted = layer.ShapeOf(like);
    if (wanted.rank != 4) return InputError("its second input is no image");
    return EmitResize(layer, x, wanted[2], wanted[3], ResizeMode::kLinear);
  }
  if (given.has_height()) {
    return EmitResize(layer, x, given.height(), given.width(), ResizeMode::kLinear);
  }
  if (given.shrink_factor() < 1 || given.zoom_factor() < 1) {
    return InputError("its factors are below 1");
  }
  const auto size = [&](int64_t input) {
    const int64_t shrunk = (input - 1) / given.shrink_factor() + 1;
    return shrunk + (shrunk - 1) * (int64_t{given.zoom_factor()} - 1);
  };
  return EmitResize(layer, x, size(shape[2]), size(shape[3]), ResizeMode::kLinear);
}

/// Every pixel `scale` times in both directions.
Status LowerUpsample(Layer& layer) {
  const int64_t scale = layer.stored().upsample_param().scale();
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  const Shape shape = layer.ShapeOf(x);
  if (shape.rank != 4) return InputError("its input has {} dimensions, not 4", shape.rank);
  if (scale < 1 || layer.BottomCount() > 1) {
    return InputError("only a whole 'scale' is supported, and no mask");
  }
  return EmitResize(layer, x, shape[2] * scale, shape[3] * scale, ResizeMode::kNearest);
}

constexpr LoweringRow kShapesLowerings[] = {
    {"Concat", LowerConcat},
    {"Dropout", LowerIdentity},
    {"Flatten", LowerFlatten},
    {"Interp", LowerInterp, "bilinear, corners on corners; without padding"},
    {"Permute", LowerPermute},
    {"Reshape", LowerReshape},
    {"Silence", LowerSilence},
    {"Slice", LowerSlice},
    {"Split", LowerIdentity},
    {"Upsample", LowerUpsample, "a whole scale, pixels repeated"},
};

}  // namespace

constexpr Span<const LoweringRow> kShapeRows = kShapesLowerings;

}  // namespace tenon::converter::caffe

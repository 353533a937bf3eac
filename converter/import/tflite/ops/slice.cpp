// SLICE, STRIDED_SLICE, SPLIT, SPLIT_V, UNPACK and REVERSE_V2.
#include <algorithm>

#include "converter/import/tflite/ops/ops.hpp"
#include "converter/ir/shapes.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

/// Sets each output to `sizes[i]` elements of x along `axis`, one after the other.
Status EmitParts(Node& node, TensorId x, Order order, int32_t axis,
                 const std::vector<int64_t>& sizes) {
  const Shape shape = node.ShapeOf(x);
  if (sizes.size() != static_cast<size_t>(node.OutputCount())) {
    return InputError("{} parts and {} outputs", sizes.size(), node.OutputCount());
  }
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > shape[axis] - begin) {
      return InputError("a part of {} at {} does not fit dimension {}", sizes[i], begin,
                        shape[axis]);
    }
    SliceAttributes attributes = WholeSlice(shape);
    attributes.begins[axis] = static_cast<int32_t>(begin);
    attributes.sizes[axis] = static_cast<int32_t>(sizes[i]);
    TENON_ASSIGN_OR_RETURN(const TensorId part, node.Slice(x, attributes));
    TENON_RETURN_IF_ERROR(node.SetOutput(static_cast<int>(i), part, order));
    begin += sizes[i];
  }
  return {};
}

/// What STRIDED_SLICE takes of one dimension; the index that both ends start from, clamped.
struct Range {
  int64_t begin = 0;
  int64_t step = 1;
  int64_t size = 0;
};

Result<Range> RangeOf(int64_t dim, int64_t begin, int64_t end, int64_t step, bool begin_open,
                      bool end_open, bool single) {
  if (step == 0) return InputError("a step is 0");
  const auto from_front = [&](int64_t index) { return index < 0 ? index + dim : index; };
  if (single) {
    // An open begin counts, as in TFLite's kernels; TensorFlow's own pass it over.
    const int64_t index = begin_open ? (step > 0 ? 0 : dim - 1) : from_front(begin);
    if (index < 0 || index >= dim) return InputError("index {} of a dimension of {}", begin, dim);
    return Range{index, 1, 1};
  }
  // The places that an end can be at: before the first and past the last element taken.
  const int64_t least = step > 0 ? 0 : -1;
  const int64_t most = step > 0 ? dim : dim - 1;
  const int64_t first =
      begin_open ? (step > 0 ? 0 : dim - 1) : std::clamp(from_front(begin), least, most);
  const int64_t last = end_open ? (step > 0 ? dim : -1) : std::clamp(from_front(end), least, most);
  const int64_t distance = step > 0 ? last - first : first - last;
  const int64_t stride = step > 0 ? step : -step;
  return Range{first, step, distance <= 0 ? 0 : (distance + stride - 1) / stride};
}

/// What STRIDED_SLICE says of each dimension, a new one or an ellipsis.
struct Entries {
  std::vector<int64_t> begins;
  std::vector<int64_t> ends;
  std::vector<int64_t> steps;
};

constexpr int32_t kNewAxis = -1;
constexpr int kWhole = -1;

/// How entries belong to dimensions.
struct SliceForm {
  std::vector<int> entry_of;  ///< of each dimension of the input; kWhole: none
  std::vector<int32_t> made;  ///< the output's dimensions: the input's, or kNewAxis
};

bool IsMarked(int32_t mask, size_t entry) { return entry < 32 && (mask >> entry & 1) != 0; }

/// An ellipsis stands for all dimensions that the other entries leave; it counts before the mark of
/// a new dimension, which counts before that of a single element.
Result<SliceForm> FormOf(const format::StridedSliceOptions& options, const Entries& entries,
                         int32_t rank) {
  const size_t count = entries.begins.size();
  int64_t left = rank;
  int ellipses = 0;
  for (size_t i = 0; i < count; ++i) {
    const bool ellipsis = IsMarked(options.ellipsis_mask(), i);
    ellipses += ellipsis ? 1 : 0;
    if (!ellipsis && !IsMarked(options.new_axis_mask(), i)) --left;
  }
  if (left < 0 || ellipses > 1 || entries.ends.size() != count || entries.steps.size() != count) {
    return InputError("{} begins, {} ends and {} steps for {} dimensions", count,
                      entries.ends.size(), entries.steps.size(), rank);
  }
  SliceForm form;
  const auto add_whole = [&] {
    form.made.push_back(static_cast<int32_t>(form.entry_of.size()));
    form.entry_of.push_back(kWhole);
  };
  for (size_t i = 0; i < count; ++i) {
    if (IsMarked(options.ellipsis_mask(), i)) {
      for (; left > 0; --left) add_whole();
    } else if (IsMarked(options.new_axis_mask(), i)) {
      form.made.push_back(kNewAxis);
    } else {
      const auto axis = static_cast<int32_t>(form.entry_of.size());
      form.entry_of.push_back(static_cast<int>(i));
      if (!IsMarked(options.shrink_axis_mask(), i)) form.made.push_back(axis);
    }
  }
  for (; left > 0; --left) add_whole();
  return form;
}

/// What entry `entry` takes of a dimension of `dim`.
Result<Range> RangeOf(const format::StridedSliceOptions& options, const Entries& entries, int entry,
                      int64_t dim) {
  if (entry == kWhole) return Range{0, 1, dim};
  const auto i = static_cast<size_t>(entry);
  const int64_t begin = entries.begins[i];
  const int64_t end = options.offset() ? begin + entries.ends[i] : entries.ends[i];
  return RangeOf(dim, begin, end, entries.steps[i], IsMarked(options.begin_mask(), i),
                 IsMarked(options.end_mask(), i), IsMarked(options.shrink_axis_mask(), i));
}

}  // namespace

Status LowerSlice(Node& node) {
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> begins, node.Ints(1));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, node.Ints(2));
  const Shape shape = node.ShapeOf(x);
  const auto rank = static_cast<size_t>(shape.rank);
  if (begins.size() != rank || sizes.size() != rank) {
    return InputError("{} begins and {} sizes for {} dimensions", begins.size(), sizes.size(),
                      rank);
  }
  SliceAttributes attributes = WholeSlice(shape);
  for (size_t i = 0; i < rank; ++i) {
    const int32_t axis = AxisIn(order, static_cast<int32_t>(i));
    const int64_t dim = shape[axis];
    const bool begins_inside = begins[i] >= 0 && begins[i] <= dim;
    const int64_t size = sizes[i] == -1 && begins_inside ? dim - begins[i] : sizes[i];
    if (!begins_inside || size < 0 || size > dim - begins[i]) {
      return InputError("{} elements at {} do not fit dimension {}", sizes[i], begins[i], dim);
    }
    attributes.begins[axis] = static_cast<int32_t>(begins[i]);
    attributes.sizes[axis] = static_cast<int32_t>(size);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Slice(x, attributes));
  return node.SetOutput(0, y, order);
}

Status LowerStridedSlice(Node& node) {
  const auto* options = node.stored().builtin_options_as_StridedSliceOptions();
  if (options == nullptr) return InputError("its options are missing");
  Entries entries;
  TENON_ASSIGN_OR_RETURN(entries.begins, node.Ints(1));
  TENON_ASSIGN_OR_RETURN(entries.ends, node.Ints(2));
  TENON_ASSIGN_OR_RETURN(entries.steps, node.Ints(3));
  const int32_t moved =
      options->shrink_axis_mask() | options->new_axis_mask() | options->ellipsis_mask();
  const Order order = moved == 0 ? node.OrderOf(0) : Order::kModel;
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const SliceForm form, FormOf(*options, entries, shape.rank));
  SliceAttributes attributes = WholeSlice(shape);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < form.entry_of.size(); ++i) {
    const int32_t axis = AxisIn(order, static_cast<int32_t>(i));
    TENON_ASSIGN_OR_RETURN(const Range range,
                           RangeOf(*options, entries, form.entry_of[i], shape[axis]));
    sizes.push_back(range.size);
    attributes.begins[axis] = range.size == 0 ? 0 : static_cast<int32_t>(range.begin);
    attributes.steps[axis] = static_cast<int32_t>(range.step);
    attributes.sizes[axis] = static_cast<int32_t>(range.size);
  }
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Slice(x, attributes));
  if (moved != 0) {
    std::vector<int64_t> dims;
    for (const int32_t axis : form.made) {
      dims.push_back(axis == kNewAxis ? 1 : sizes[static_cast<size_t>(axis)]);
    }
    TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, dims));
  }
  return node.SetOutput(0, y, order);
}

// SPLIT: axis, x; into equal parts. SPLIT_V: x, sizes (one may be -1: the rest), axis.
Status LowerSplit(Node& node) {
  const bool equal = node.op() == format::BuiltinOperator::SPLIT;
  const int source = equal ? 1 : 0;
  const Order order = node.OrderOf(source);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(source, order));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, node.Ints(equal ? 0 : 2));
  if (axes.size() != 1) return InputError("its axis is no scalar");
  TENON_ASSIGN_OR_RETURN(int32_t axis, node.Axis(axes[0], node.ShapeOf(x).rank));
  axis = AxisIn(order, axis);
  const int64_t dim = node.ShapeOf(x)[axis];
  const auto count = static_cast<size_t>(node.OutputCount());
  std::vector<int64_t> sizes(count, dim / static_cast<int64_t>(count));
  if (!equal) {
    TENON_ASSIGN_OR_RETURN(sizes, node.Ints(1));
    int64_t known = 0;
    for (const int64_t size : sizes) known += size == -1 ? 0 : std::clamp<int64_t>(size, 0, dim);
    const auto rest = std::find(sizes.begin(), sizes.end(), -1);
    if (rest != sizes.end()) *rest = dim - known;
  } else if (dim % static_cast<int64_t>(count) != 0) {
    return InputError("dimension {} does not divide into {} parts", dim, count);
  }
  return EmitParts(node, x, order, axis, sizes);
}

Status LowerUnpack(Node& node) {
  const auto* options = node.stored().builtin_options_as_UnpackOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(options->axis(), shape.rank));
  if (shape[axis] != node.OutputCount()) {
    return InputError("dimension {} and {} outputs", shape[axis], node.OutputCount());
  }
  std::vector<int64_t> dims(shape.dims, shape.dims + shape.rank);
  dims.erase(dims.begin() + axis);
  for (int i = 0; i < node.OutputCount(); ++i) {
    SliceAttributes attributes = WholeSlice(shape);
    attributes.begins[axis] = i;
    attributes.sizes[axis] = 1;
    TENON_ASSIGN_OR_RETURN(TensorId part, node.Slice(x, attributes));
    TENON_ASSIGN_OR_RETURN(part, node.Reshape(part, dims));
    TENON_RETURN_IF_ERROR(node.SetOutput(i, part));
  }
  return {};
}

Status LowerReverse(Node& node) {
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, node.Ints(1));
  const Shape shape = node.ShapeOf(x);
  SliceAttributes attributes = WholeSlice(shape);
  for (const int64_t value : axes) {
    TENON_ASSIGN_OR_RETURN(int32_t axis, node.Axis(value, shape.rank));
    axis = AxisIn(order, axis);
    if (shape[axis] < 2) continue;
    if (attributes.steps[axis] < 0) return InputError("axis {} is given twice", value);
    attributes.begins[axis] = shape[axis] - 1;
    attributes.steps[axis] = -1;
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Slice(x, attributes));
  return node.SetOutput(0, y, order);
}

}  // namespace tenon::converter::tflite

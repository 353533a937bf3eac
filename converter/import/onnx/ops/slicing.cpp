// Operators that cut tensors and put them together.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "converter/import/onnx/ops/ops.hpp"
#include "converter/ir/elements.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

using Ints = std::vector<int64_t>;

struct SliceOperands {
  Ints starts;
  Ints ends;
  Ints axes;
  Ints steps;
};

Result<Ints> OptionalInts(Lowering& node, int index) {
  if (!node.HasInput(index)) return Ints();
  TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(index));
  return node.ConstantInts(input);
}

/// Attributes before opset 10, then inputs.
Result<SliceOperands> ReadSlice(Lowering& node) {
  SliceOperands operands;
  if (node.opset() < 10) {
    operands = {node.Ints("starts"), node.Ints("ends"), node.Ints("axes"), {}};
  } else {
    TENON_ASSIGN_OR_RETURN(operands.starts, OptionalInts(node, 1));
    TENON_ASSIGN_OR_RETURN(operands.ends, OptionalInts(node, 2));
    TENON_ASSIGN_OR_RETURN(operands.axes, OptionalInts(node, 3));
    TENON_ASSIGN_OR_RETURN(operands.steps, OptionalInts(node, 4));
  }
  const size_t count = operands.starts.size();
  if (operands.axes.empty()) {
    operands.axes.resize(count);
    std::iota(operands.axes.begin(), operands.axes.end(), int64_t{0});
  }
  if (operands.steps.empty()) operands.steps.assign(count, 1);
  if (operands.ends.size() != count || operands.axes.size() != count ||
      operands.steps.size() != count) {
    return InputError("starts, ends, axes and steps differ in length");
  }
  return operands;
}

/// One dimension of a slice, with Python's rules: negative positions count from the end, what
/// lies outside is cut off.
void SetRange(SliceAttributes& slice, int32_t axis, int32_t dim, int64_t start, int64_t end,
              int64_t step) {
  const auto clamp = [&](int64_t position) {
    // Adding to a huge negative number is safe, to a huge positive one it isn't needed.
    if (position < 0) position += dim;
    return step > 0 ? std::clamp<int64_t>(position, 0, dim)
                    : std::clamp<int64_t>(position, -1, dim - 1);
  };
  // What goes back from before the first element starts at that one.
  const int64_t first = step > 0 || dim == 0 ? clamp(start) : std::max<int64_t>(clamp(start), 0);
  const int64_t distance = step > 0 ? clamp(end) - first : first - clamp(end);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t size = distance <= 0 ? 0 : (static_cast<uint64_t>(distance) - 1) / stride + 1;
  slice.begins[axis] = size == 0 ? 0 : static_cast<int32_t>(first);
  slice.sizes[axis] = static_cast<int32_t>(size);
  slice.steps[axis] = size <= 1 ? 1 : static_cast<int32_t>(step);
}

/// Lengths of the parts of Split: an attribute before opset 13, then an input; else equal parts.
Result<Ints> ReadSplit(Lowering& node, int64_t length) {
  Ints parts;
  if (node.opset() < 13) {
    parts = node.Ints("split");
  } else {
    TENON_ASSIGN_OR_RETURN(parts, OptionalInts(node, 1));
  }
  const int64_t count = node.opset() >= 18 && node.HasAttribute("num_outputs")
                            ? node.Int("num_outputs", 0)
                            : node.OutputCount();
  if (count != node.OutputCount()) {
    return InputError("num_outputs is {}, it has {} outputs", count, node.OutputCount());
  }
  if (parts.empty()) {
    const int64_t part = (length + count - 1) / count;
    if (node.opset() < 18 && part * count != length) {
      return InputError("{} elements cannot be split into {} equal parts", length, count);
    }
    for (int64_t i = 0; i < count; ++i) {
      parts.push_back(std::clamp<int64_t>(length - i * part, 0, part));
    }
  }
  int64_t rest = length;
  for (int64_t part : parts) {
    if (part < 0 || part > rest) return InputError("its parts do not fit {} elements", length);
    rest -= part;
  }
  if (rest != 0 || static_cast<int64_t>(parts.size()) != count) {
    return InputError("its parts do not add up to {} elements in {} outputs", length, count);
  }
  return parts;
}

Result<PadMode> ReadPadMode(Lowering& node) {
  const std::string mode = node.Text("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "reflect") return PadMode::kReflect;
  return InputError("mode '{}' is not supported", mode);
}

struct PadValue {
  float value = 0.0F;
  /// A constant of x's dtype, where an f32 does not hold the value; else kNone.
  TensorId exact = kNone;
};

Result<PadValue> ReadPadValue(Lowering& node) {
  if (node.opset() < 11) return PadValue{node.Float("value", 0.0F), kNone};
  if (!node.HasInput(2)) return PadValue{};
  TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(2));
  TENON_RETURN_IF_ERROR(node.RequireConstant(input));
  const Tensor& constant = node.graph().tensor(input);
  if (constant.shape.Elements() != 1) {
    return InputError("constant_value has {} values", constant.shape.Elements());
  }
  const DType dtype = constant.dtype;
  const std::byte* element = constant.constant->data();
  PadValue pad;
  bool same = true;
  if (IsFloat(dtype)) {
    const double value = ReadElement(dtype, element);
    pad.value = static_cast<float>(value);
    same = std::isnan(value) || static_cast<double>(pad.value) == value;
  } else {
    const int64_t value = ReadInteger(dtype, element);
    pad.value = static_cast<float>(value);
    // Below 2^24 in size every integer is an f32; others are not worth a closer look.
    same = value > -(1 << 24) && value < (1 << 24);
  }
  if (!same) pad.exact = input;
  return pad;
}

/// The largest number is no end of what goes back, in ONNX's text.
void WarnOfEnd(Lowering& node, int64_t end, int64_t step) {
  if (step > 0 ||
      (end != std::numeric_limits<int64_t>::max() && end != std::numeric_limits<int32_t>::max())) {
    return;
  }
  node.Warn(
      fmt::format("with a step of {} nothing lies before its end {}: it gives no elements, as "
                  "ONNX's text has it, where ONNX Runtime takes all down to the first",
                  step, end));
}

Status LowerSlice(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const SliceOperands operands, ReadSlice(node));
  TENON_ASSIGN_OR_RETURN(const std::vector<int32_t> axes, node.Axes(operands.axes, shape.rank));
  SliceAttributes slice = WholeSlice(shape);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (operands.steps[i] == 0) return InputError("a step is 0");
    WarnOfEnd(node, operands.ends[i], operands.steps[i]);
    SetRange(slice, axes[i], shape[axes[i]], operands.starts[i], operands.ends[i],
             operands.steps[i]);
  }
  return node.Slice(x, slice, 0).status();
}

Status LowerSplit(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(node.Int("axis", 0), shape.rank));
  TENON_ASSIGN_OR_RETURN(const Ints parts, ReadSplit(node, shape[axis]));
  SliceAttributes slice = WholeSlice(shape);
  for (size_t i = 0; i < parts.size(); ++i) {
    slice.sizes[axis] = static_cast<int32_t>(parts[i]);
    const auto output = static_cast<int>(i);
    if (node.OutputUsed(output)) TENON_RETURN_IF_ERROR(node.Slice(x, slice, output).status());
    slice.begins[axis] += static_cast<int32_t>(parts[i]);
  }
  return {};
}

/// The one place along an axis of `size` that a constant says, or nothing.
Result<std::optional<int64_t>> OnePlace(Lowering& node, TensorId indices, int32_t size) {
  const Tensor& tensor = node.graph().tensor(indices);
  if (!tensor.IsConstant() || tensor.shape.Elements() != 1) return std::optional<int64_t>();
  TENON_ASSIGN_OR_RETURN(const Ints place, node.ConstantInts(indices));
  const int64_t index = place[0] < 0 ? place[0] + size : place[0];
  if (index < 0 || index >= size) return std::optional<int64_t>();
  return std::optional<int64_t>(index);
}

// What one known index takes is a slice, which may stay where it is.
Status LowerGather(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId indices, node.Input(1));
  GatherAttributes attributes;
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(attributes.axis, node.Axis(node.Int("axis", 0), shape.rank));
  TENON_ASSIGN_OR_RETURN(const auto place, OnePlace(node, indices, shape[attributes.axis]));
  const int32_t rank = node.ShapeOf(indices).rank;
  if (place.has_value() && rank <= 1) {
    TENON_ASSIGN_OR_RETURN(const TensorId part,
                           node.Slice(x, SliceAlong(shape, attributes.axis, *place, 1)));
    Ints dims = DimsOf(node.ShapeOf(part));
    if (rank == 0) dims.erase(dims.begin() + attributes.axis);
    return node.Reshape(part, dims, 0).status();
  }
  return node.Emit(OpKind::kGather, {x, indices}, Attributes(attributes), 0).status();
}

// The slices that a known condition takes; without an axis of the elements in a row.
Status LowerCompress(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId condition, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const Ints taken, node.ConstantInts(condition));
  GatherAttributes attributes;
  if (node.HasAttribute("axis")) {
    TENON_ASSIGN_OR_RETURN(attributes.axis, node.Axis(node.Int("axis", 0), node.ShapeOf(x).rank));
  } else {
    TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {node.ShapeOf(x).Elements()}));
  }
  std::vector<double> places;
  for (size_t i = 0; i < taken.size(); ++i) {
    if (taken[i] != 0) places.push_back(static_cast<double>(i));
  }
  const int32_t size = node.ShapeOf(x)[attributes.axis];
  if (!places.empty() && places.back() >= size) {
    return InputError("its condition takes element {} of {}", places.back(), size);
  }
  TENON_ASSIGN_OR_RETURN(
      const TensorId indices,
      node.Constant("places", DType::kI64, Shape({static_cast<int32_t>(places.size())}), places));
  return node.Emit(OpKind::kGather, {x, indices}, Attributes(attributes), 0).status();
}

// Of a known tensor, as exporters write indices down: a row of places for each dimension.
Status LowerNonZero(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> values, node.ConstantDoubles(x));
  Shape shape = node.ShapeOf(x);
  if (shape.rank == 0) shape = Shape({1});
  std::vector<size_t> found;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0.0) found.push_back(i);
  }
  std::vector<double> places(static_cast<size_t>(shape.rank) * found.size());
  size_t inner = 1;  // elements from one index of the dimension to the next
  for (int32_t k = shape.rank - 1; k >= 0; --k) {
    for (size_t i = 0; i < found.size(); ++i) {
      const size_t index = found[i] / inner % static_cast<size_t>(shape[k]);
      places[static_cast<size_t>(k) * found.size() + i] = static_cast<double>(index);
    }
    inner *= static_cast<size_t>(shape[k]);
  }
  TENON_ASSIGN_OR_RETURN(
      const TensorId rows,
      node.Constant("places", DType::kI64, Shape({shape.rank, static_cast<int32_t>(found.size())}),
                    places));
  node.Alias(0, rows);
  return {};
}

Status LowerConcat(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs, node.Inputs());
  if (node.opset() >= 4 && !node.HasAttribute("axis")) {
    return InputError("attribute 'axis' is missing");
  }
  ConcatAttributes attributes;
  TENON_ASSIGN_OR_RETURN(attributes.axis,
                         node.Axis(node.Int("axis", 1), node.ShapeOf(inputs[0]).rank));
  if (inputs.size() == 1) {
    node.Alias(0, inputs[0]);
    return {};
  }
  return node.Emit(OpKind::kConcat, inputs, Attributes(attributes), 0).status();
}

/// x without the elements that negative pads remove; the pads keep what is to be added.
Result<TensorId> Crop(Lowering& node, TensorId x, PadAttributes& pad) {
  SliceAttributes slice = WholeSlice(node.ShapeOf(x));
  for (int32_t axis = 0; axis < pad.rank; ++axis) {
    const int64_t before = std::min(pad.begins[axis], 0);
    const int64_t after = std::min(pad.ends[axis], 0);
    const int64_t kept = slice.sizes[axis] + before + after;
    if (kept < 0) {
      return InputError("its pads remove {} of {} elements", -(before + after), slice.sizes[axis]);
    }
    slice.begins[axis] = static_cast<int32_t>(-before);
    slice.sizes[axis] = static_cast<int32_t>(kept);
    pad.begins[axis] = std::max(pad.begins[axis], 0);
    pad.ends[axis] = std::max(pad.ends[axis], 0);
  }
  return node.Slice(x, slice);
}

/// The elements before (and after) dimension `axis` are those of its other end, as often as need
/// be.
Result<TensorId> Wrap(Lowering& node, TensorId x, int32_t axis, int64_t before, int64_t after) {
  const Shape shape = node.ShapeOf(x);
  const int64_t size = shape[axis];
  if (size < 1) return InputError("an empty dimension cannot be wrapped");
  std::vector<TensorId> pieces;
  // Piece by piece through the output, each up to the end of x.
  for (int64_t at = -before; at < size + after;) {
    const int64_t begin = ((at % size) + size) % size;
    const int64_t length = std::min(size - begin, size + after - at);
    SliceAttributes slice = WholeSlice(shape);
    slice.begins[axis] = static_cast<int32_t>(begin);
    slice.sizes[axis] = static_cast<int32_t>(length);
    TENON_ASSIGN_OR_RETURN(const TensorId piece, node.Slice(x, slice));
    pieces.push_back(piece);
    at += length;
    if (pieces.size() > 4096) return InputError("wrapping so often is not supported");
  }
  if (pieces.empty()) return InputError("the padding removes every element");
  if (pieces.size() == 1) return pieces[0];
  ConcatAttributes attributes;
  attributes.axis = axis;
  return node.Emit(OpKind::kConcat, pieces, Attributes(attributes));
}

Status EmitWrap(Lowering& node, TensorId x, PadAttributes pad) {
  TENON_ASSIGN_OR_RETURN(x, Crop(node, x, pad));
  for (int32_t axis = 0; axis < pad.rank; ++axis) {
    if (pad.begins[axis] == 0 && pad.ends[axis] == 0) continue;
    TENON_ASSIGN_OR_RETURN(x, Wrap(node, x, axis, pad.begins[axis], pad.ends[axis]));
  }
  node.Alias(0, x);
  return {};
}

/// Pads with a value that the op's attribute does not hold.
Status EmitPadWith(Lowering& node, TensorId x, PadAttributes pad, TensorId value) {
  if (node.DTypeOf(value) != node.DTypeOf(x)) {
    return InputError("constant_value is {}, its input {}", DTypeName(node.DTypeOf(value)),
                      DTypeName(node.DTypeOf(x)));
  }
  TENON_ASSIGN_OR_RETURN(x, Crop(node, x, pad));
  TENON_ASSIGN_OR_RETURN(value, node.Reshape(value, {}));
  for (int32_t axis = 0; axis < pad.rank; ++axis) {
    std::vector<TensorId> pieces;
    const auto add = [&](int32_t count) -> Status {
      if (count == 0) return {};
      Shape shape = node.ShapeOf(x);
      shape[axis] = count;
      TENON_ASSIGN_OR_RETURN(const TensorId piece, node.Expand(value, shape));
      pieces.push_back(piece);
      return {};
    };
    TENON_RETURN_IF_ERROR(add(pad.begins[axis]));
    pieces.push_back(x);
    TENON_RETURN_IF_ERROR(add(pad.ends[axis]));
    if (pieces.size() == 1) continue;
    ConcatAttributes attributes;
    attributes.axis = axis;
    TENON_ASSIGN_OR_RETURN(x, node.Emit(OpKind::kConcat, pieces, Attributes(attributes)));
  }
  node.Alias(0, x);
  return {};
}

Status LowerPad(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const int32_t rank = node.ShapeOf(x).rank;
  PadAttributes attributes;
  attributes.rank = rank;
  const bool wraps = node.Text("mode", "constant") == "wrap";
  if (!wraps) {
    TENON_ASSIGN_OR_RETURN(attributes.mode, ReadPadMode(node));
  }
  TENON_ASSIGN_OR_RETURN(const PadValue value, ReadPadValue(node));
  attributes.value = value.value;
  Ints pads;
  if (node.opset() < 11) pads = node.Ints(node.opset() < 2 ? "paddings" : "pads");
  Ints given_axes;
  if (node.opset() >= 11) {
    TENON_ASSIGN_OR_RETURN(pads, OptionalInts(node, 1));
  }
  if (node.opset() >= 18) {
    TENON_ASSIGN_OR_RETURN(given_axes, OptionalInts(node, 3));
  }
  if (given_axes.empty()) {
    given_axes.resize(static_cast<size_t>(rank));
    std::iota(given_axes.begin(), given_axes.end(), int64_t{0});
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<int32_t> axes, node.Axes(given_axes, rank));
  if (pads.size() != 2 * axes.size()) {
    return InputError("{} pads for {} dimensions", pads.size(), axes.size());
  }
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] < std::numeric_limits<int32_t>::min() ||
        pads[i] > std::numeric_limits<int32_t>::max()) {
      return InputError("padding {} is out of range", pads[i]);
    }
    int32_t* side = i < axes.size() ? attributes.begins : attributes.ends;
    side[axes[i % axes.size()]] = static_cast<int32_t>(pads[i]);
  }
  if (std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; })) {
    node.Alias(0, x);
    return {};
  }
  if (wraps) return EmitWrap(node, x, attributes);
  if (value.exact != kNone && attributes.mode == PadMode::kConstant) {
    return EmitPadWith(node, x, attributes, value.exact);
  }
  return node.Emit(OpKind::kPad, {x}, Attributes(attributes), 0).status();
}

constexpr std::string_view kPadLimits = "pads, value and axes constant";

constexpr LoweringRow kSlicingRows[] = {
    {"Compress", LowerCompress, {}, "condition constant"},
    {"Concat", LowerConcat},
    {"Gather", LowerGather},
    {"NonZero", LowerNonZero, {}, "its input constant"},
    {"Pad", LowerPad, {}, kPadLimits},
    {"Pad", LowerPad, "com.microsoft", kPadLimits},
    {"Slice",
     LowerSlice,
     {},
     "starts, ends, axes and steps constant; going back, an end of 2^63 - 1 leaves nothing, where "
     "ONNX Runtime takes all"},
    {"Split", LowerSplit, {}, "its parts constant"},
};

}  // namespace

constexpr Span<const LoweringRow> kSlicingLowerings = kSlicingRows;

}  // namespace tenon::converter

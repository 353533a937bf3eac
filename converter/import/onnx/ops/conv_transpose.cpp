// ConvTranspose, as a convolution that makes all phases of the output, and a rearrangement.
//
// With stride s and o = q s + r, y[o] = sum over j of x[q - j] w[r + s j]: phase r is a convolution
// with every s-th weight, in reverse. One convolution with s outputs for each of y's (s_h s_w in
// two dimensions) makes all phases without multiplying by the zeros that lie between x's elements.
#include <algorithm>
#include <limits>

#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/onnx/ops/window.hpp"

namespace tenon::converter {
namespace {

using Ints = std::vector<int64_t>;

/// One spatial dimension.
struct Extent {
  int64_t input = 1;
  int64_t kernel = 1;  ///< with the zeros of its dilation
  int64_t taps = 1;    ///< without
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  ///< what the padding cuts off the full output
  int64_t output = 1;

  [[nodiscard]] int64_t PhaseTaps() const { return (kernel + stride - 1) / stride; }
  /// Outputs of each phase, so many that they reach the end of the output.
  [[nodiscard]] int64_t PhaseLength() const {
    return std::max(input + PhaseTaps() - 1, (before + output + stride - 1) / stride);
  }
};

Result<Ints> Attribute(Lowering& node, const char* name, size_t count, int64_t absent) {
  Ints values = node.Ints(name);
  if (values.empty()) values.assign(count, absent);
  const bool known =
      values.size() == count && std::all_of(values.begin(), values.end(), [](int64_t v) {
        return v >= 0 && v <= std::numeric_limits<int32_t>::max() / 4;
      });
  if (!known) return InputError("attribute '{}' is out of range", name);
  return values;
}

/// Output sizes and what is cut off in front: from output_shape or auto_pad, else from pads.
Status SetOutputs(Lowering& node, std::vector<Extent>& extents) {
  const size_t count = extents.size();
  TENON_ASSIGN_OR_RETURN(const Ints pads, Attribute(node, "pads", 2 * count, 0));
  TENON_ASSIGN_OR_RETURN(const Ints added, Attribute(node, "output_padding", count, 0));
  const Ints shape = node.Ints("output_shape");
  const std::string auto_pad = node.Text("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID" && !auto_pad.starts_with("SAME_")) {
    return InputError("auto_pad '{}' is not known", auto_pad);
  }
  const bool same = auto_pad.starts_with("SAME_");
  if (!shape.empty() && shape.size() < count) return InputError("output_shape is too short");
  for (size_t i = 0; i < count; ++i) {
    Extent& e = extents[i];
    const int64_t full = (e.input - 1) * e.stride + e.kernel + added[i];
    if (shape.empty() && !same) {
      e.before = auto_pad == "VALID" ? 0 : pads[i];
      e.output = full - (auto_pad == "VALID" ? 0 : pads[i] + pads[count + i]);
    } else {
      e.output = shape.empty() ? e.input * e.stride : shape[shape.size() - count + i];
      const int64_t total = std::max<int64_t>(0, full - e.output);
      // The odd element is cut off at the end with SAME_UPPER, else in front.
      e.before = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    }
    if (e.output < 1 || e.output > std::numeric_limits<int32_t>::max()) {
      return InputError("its output has the size {}", e.output);
    }
  }
  return {};
}

/// Height and width; a one-dimensional convolution has height 1.
Result<std::vector<Extent>> ReadExtents(Lowering& node, const Shape& x, const Shape& w) {
  if (x.rank != w.rank || (x.rank != 3 && x.rank != 4)) {
    return InputError("its input has {} dimensions; only one or two spatial ones are supported",
                      x.rank);
  }
  const auto count = static_cast<size_t>(x.rank - 2);
  const Ints kernel(w.dims + 2, w.dims + w.rank);
  const Ints declared = node.Ints("kernel_shape");
  if (!declared.empty() && declared != kernel) {
    return InputError("kernel_shape is not that of its weights");
  }
  TENON_ASSIGN_OR_RETURN(const Ints strides, Attribute(node, "strides", count, 1));
  TENON_ASSIGN_OR_RETURN(const Ints dilations, Attribute(node, "dilations", count, 1));
  std::vector<Extent> extents(count);
  for (size_t i = 0; i < count; ++i) {
    Extent& e = extents[i];
    if (strides[i] < 1 || dilations[i] < 1 || kernel[i] < 1) {
      return InputError("strides, dilations and kernel must be at least 1");
    }
    e.input = x[static_cast<int32_t>(i) + 2];
    e.taps = kernel[i];
    e.kernel = (kernel[i] - 1) * dilations[i] + 1;
    e.stride = strides[i];
    e.dilation = dilations[i];
  }
  TENON_RETURN_IF_ERROR(SetOutputs(node, extents));
  if (count == 1) extents.insert(extents.begin(), Extent());
  return extents;
}

/// Zeros at the end of dimension `axis` of x.
Result<TensorId> PadEnd(Lowering& node, TensorId x, int32_t axis, int64_t count) {
  if (count == 0) return x;
  PadAttributes pad;
  pad.rank = node.ShapeOf(x).rank;
  pad.ends[axis] = static_cast<int32_t>(count);
  return node.Emit(OpKind::kPad, {x}, Attributes(pad));
}

/// w with the zeros of a dilation between the taps along `axis`, and zeros after it up to a
/// multiple of the stride.
Result<TensorId> SpreadTaps(Lowering& node, TensorId w, int32_t axis, const Extent& e) {
  if (e.dilation > 1 && e.taps > 1) {
    Ints dims = DimsOf(node.ShapeOf(w));
    dims.insert(dims.begin() + axis + 1, 1);
    TENON_ASSIGN_OR_RETURN(w, node.Reshape(w, dims));
    TENON_ASSIGN_OR_RETURN(w, PadEnd(node, w, axis + 1, e.dilation - 1));
    dims.erase(dims.begin() + axis + 1);
    dims[static_cast<size_t>(axis)] = e.taps * e.dilation;
    TENON_ASSIGN_OR_RETURN(w, node.Reshape(w, dims));
    SliceAttributes slice;
    slice.rank = node.ShapeOf(w).rank;
    for (int32_t i = 0; i < slice.rank; ++i) {
      slice.sizes[i] = static_cast<int32_t>(i == axis ? e.kernel : dims[static_cast<size_t>(i)]);
      slice.steps[i] = 1;
    }
    TENON_ASSIGN_OR_RETURN(w, node.Slice(w, slice));
  }
  return PadEnd(node, w, axis, e.PhaseTaps() * e.stride - e.kernel);
}

/// [C, M / group, KH, KW] as the weights of the convolution that makes the phases: [M sh sw,
/// C / group, JH, JW], the taps of each phase in reverse.
Result<TensorId> PhaseWeights(Lowering& node, TensorId w, int64_t group, const Extent& height,
                              const Extent& width) {
  const Shape shape = node.ShapeOf(w);
  TENON_ASSIGN_OR_RETURN(w, SpreadTaps(node, w, 2, height));
  TENON_ASSIGN_OR_RETURN(w, SpreadTaps(node, w, 3, width));
  const int64_t channels = shape[0] / group;
  TENON_ASSIGN_OR_RETURN(w, node.Reshape(w, {group, channels, shape[1], height.PhaseTaps(),
                                             height.stride, width.PhaseTaps(), width.stride}));
  TENON_ASSIGN_OR_RETURN(w, node.Transpose(w, {0, 2, 4, 6, 1, 3, 5}));
  TENON_ASSIGN_OR_RETURN(w, node.Reshape(w, {group * shape[1] * height.stride * width.stride,
                                             channels, height.PhaseTaps(), width.PhaseTaps()}));
  SliceAttributes reversed;
  const Shape phases = node.ShapeOf(w);
  reversed.rank = 4;
  for (int32_t i = 0; i < 4; ++i) {
    reversed.sizes[i] = phases[i];
    const bool turned = i >= 2 && phases[i] > 1;
    reversed.begins[i] = turned ? phases[i] - 1 : 0;
    reversed.steps[i] = turned ? -1 : 1;
  }
  return node.Slice(w, reversed);
}

/// One bias for each phase of each output.
Result<TensorId> PhaseBias(Lowering& node, TensorId bias, int64_t phases) {
  const int64_t outputs = node.ShapeOf(bias).Elements();
  TENON_ASSIGN_OR_RETURN(bias, node.Reshape(bias, {outputs, 1}));
  TENON_ASSIGN_OR_RETURN(const Shape each, ShapeFromDims({outputs, phases}));
  TENON_ASSIGN_OR_RETURN(bias, node.Expand(bias, each));
  return node.Reshape(bias, {outputs * phases});
}

/// The phases [N, M sh sw, QH, QW] as the output [N, M, ...].
Status JoinPhases(Lowering& node, TensorId y, const Extent& height, const Extent& width,
                  bool one_dimensional) {
  const Shape phases = node.ShapeOf(y);
  const int64_t outputs = phases[1] / (height.stride * width.stride);
  TENON_ASSIGN_OR_RETURN(
      y, node.Reshape(y, {phases[0], outputs, height.stride, width.stride, phases[2], phases[3]}));
  TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {0, 1, 4, 2, 5, 3}));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, {phases[0], outputs, phases[2] * height.stride,
                                             phases[3] * width.stride}));
  SliceAttributes slice;
  slice.rank = 4;
  std::fill_n(slice.steps, 4, 1);
  slice.sizes[0] = phases[0];
  slice.sizes[1] = static_cast<int32_t>(outputs);
  slice.begins[2] = static_cast<int32_t>(height.before);
  slice.begins[3] = static_cast<int32_t>(width.before);
  slice.sizes[2] = static_cast<int32_t>(height.output);
  slice.sizes[3] = static_cast<int32_t>(width.output);
  if (!one_dimensional) return node.Slice(y, slice, 0).status();
  TENON_ASSIGN_OR_RETURN(y, node.Slice(y, slice));
  return node.Reshape(y, {phases[0], outputs, width.output}, 0).status();
}

Status LowerConvTranspose(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(TensorId w, node.Input(1));
  const Shape x_shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const std::vector<Extent> extents,
                         ReadExtents(node, x_shape, node.ShapeOf(w)));
  const Extent& height = extents[0];
  const Extent& width = extents[1];
  ConvAttributes conv;
  conv.group = node.Int32("group", 1);
  if (conv.group < 1 || x_shape[1] % conv.group != 0 || node.ShapeOf(w)[0] != x_shape[1]) {
    return InputError("its weights do not fit {} channels in {} groups", x_shape[1], conv.group);
  }
  for (int i = 0; i < 2; ++i) {
    const Extent& e = extents[static_cast<size_t>(i)];
    conv.pads[i] = static_cast<int32_t>(e.PhaseTaps() - 1);
    conv.pads[2 + i] = static_cast<int32_t>(e.PhaseLength() - e.input);
  }
  TENON_ASSIGN_OR_RETURN(x, WithHeight(node, x));
  TENON_ASSIGN_OR_RETURN(w, WithHeight(node, w));
  std::vector<TensorId> inputs = {x, w};
  TENON_ASSIGN_OR_RETURN(inputs[ConvInput::kWeights],
                         PhaseWeights(node, w, conv.group, height, width));
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(TensorId bias, node.Input(2));
    TENON_ASSIGN_OR_RETURN(bias, PhaseBias(node, bias, height.stride * width.stride));
    inputs.push_back(bias);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId phases, node.Emit(OpKind::kConv, inputs, Attributes(conv)));
  return JoinPhases(node, phases, height, width, x_shape.rank == 3);
}

constexpr LoweringRow kRows[] = {
    {"ConvTranspose", LowerConvTranspose, {}, "one or two spatial dimensions"},
};

}  // namespace

constexpr Span<const LoweringRow> kConvTransposeLowerings = kRows;

}  // namespace tenon::converter

// Transposed convolutions, as a convolution that makes all phases of the output, and a
// rearrangement, for every importer: `Node` is its view of a node, which emits ops.
//
// With stride s and o = q s + r, y[o] = sum over j of x[q - j] w[r + s j]: phase r is a convolution
// with every s-th weight, in reverse. One convolution with s outputs for each of y's (s_h s_w in
// two dimensions) makes all phases without multiplying by the zeros that lie between x's elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "converter/import/import_graph.hpp"
#include "converter/ir/graph.hpp"
#include "converter/ir/shapes.hpp"
#include "converter/status.hpp"

namespace tenon::converter::phases {

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

/// Zeros at the end of dimension `axis` of x.
template <typename Node>
Result<TensorId> PadEnd(Node& node, TensorId x, int32_t axis, int64_t count) {
  if (count == 0) return x;
  PadAttributes pad;
  pad.rank = node.ShapeOf(x).rank;
  pad.ends[axis] = static_cast<int32_t>(count);
  return node.Emit(OpKind::kPad, {x}, Attributes(pad));
}

/// w with the zeros of a dilation between the taps along `axis`, and zeros after it up to a
/// multiple of the stride.
template <typename Node>
Result<TensorId> SpreadTaps(Node& node, TensorId w, int32_t axis, const Extent& e) {
  if (e.dilation > 1 && e.taps > 1) {
    const Shape shape = node.ShapeOf(w);
    std::vector<int64_t> dims = DimsOf(shape);
    dims.insert(dims.begin() + axis + 1, 1);
    TENON_ASSIGN_OR_RETURN(w, node.Reshape(w, dims));
    TENON_ASSIGN_OR_RETURN(w, PadEnd(node, w, axis + 1, e.dilation - 1));
    dims.erase(dims.begin() + axis + 1);
    dims[static_cast<size_t>(axis)] = e.taps * e.dilation;
    TENON_ASSIGN_OR_RETURN(w, node.Reshape(w, dims));
    TENON_ASSIGN_OR_RETURN(w, node.Slice(w, SliceAlong(node.ShapeOf(w), axis, 0, e.kernel)));
  }
  return PadEnd(node, w, axis, e.PhaseTaps() * e.stride - e.kernel);
}

/// [C, M / group, KH, KW] as the weights of the convolution that makes the phases: [M sh sw,
/// C / group, JH, JW], the taps of each phase in reverse.
template <typename Node>
Result<TensorId> PhaseWeights(Node& node, TensorId w, int64_t group, const Extent& height,
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
template <typename Node>
Result<TensorId> PhaseBias(Node& node, TensorId bias, int64_t phases) {
  const int64_t outputs = node.ShapeOf(bias).Elements();
  TENON_ASSIGN_OR_RETURN(bias, node.Reshape(bias, {outputs, 1}));
  TENON_ASSIGN_OR_RETURN(const Shape each, ShapeFromDims({outputs, phases}));
  TENON_ASSIGN_OR_RETURN(bias, node.Expand(bias, each));
  return node.Reshape(bias, {outputs * phases});
}

/// Sets the padding of the convolution that makes the phases.
inline void SetPads(const Extent& height, const Extent& width, ConvAttributes& conv) {
  const Extent* const extents[] = {&height, &width};
  for (int i = 0; i < 2; ++i) {
    conv.pads[i] = static_cast<int32_t>(extents[i]->PhaseTaps() - 1);
    conv.pads[2 + i] = static_cast<int32_t>(extents[i]->PhaseLength() - extents[i]->input);
  }
}

/// What is left of joined phases [N, M, H, W] when the padding is cut off.
struct JoinedPhases {
  TensorId y = kNone;
  SliceAttributes kept;
};

/// Joins the phases [N, M sh sw, QH, QW].
template <typename Node>
Result<JoinedPhases> JoinPhases(Node& node, TensorId y, const Extent& height, const Extent& width) {
  const Shape phases = node.ShapeOf(y);
  const int64_t outputs = phases[1] / (height.stride * width.stride);
  JoinedPhases joined;
  TENON_ASSIGN_OR_RETURN(
      y, node.Reshape(y, {phases[0], outputs, height.stride, width.stride, phases[2], phases[3]}));
  TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {0, 1, 4, 2, 5, 3}));
  TENON_ASSIGN_OR_RETURN(joined.y, node.Reshape(y, {phases[0], outputs, phases[2] * height.stride,
                                                    phases[3] * width.stride}));
  SliceAttributes& kept = joined.kept;
  kept.rank = 4;
  std::fill_n(kept.steps, 4, 1);
  kept.sizes[0] = phases[0];
  kept.sizes[1] = static_cast<int32_t>(outputs);
  kept.begins[2] = static_cast<int32_t>(height.before);
  kept.begins[3] = static_cast<int32_t>(width.before);
  kept.sizes[2] = static_cast<int32_t>(height.output);
  kept.sizes[3] = static_cast<int32_t>(width.output);
  return joined;
}

}  // namespace tenon::converter::phases

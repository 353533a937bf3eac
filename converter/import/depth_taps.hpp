// Convolutions over three spatial dimensions, as sums of those over two, for every importer: `Node`
// is its view of a node, which emits ops.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/import/conv_phases.hpp"
#include "converter/import/import_graph.hpp"
#include "converter/ir/graph.hpp"
#include "converter/ir/shapes.hpp"
#include "converter/status.hpp"

namespace tenon::converter::volumes {

/// Windows along the depth, which is padded with `begin` and `end` zeros.
struct DepthWindow {
  int32_t stride = 1;
  int32_t dilation = 1;
  int32_t begin = 0;
  int32_t end = 0;
};

/// Each tap of the depth is a convolution: of more, nothing could be planned in reasonable time.
constexpr int64_t kMostTaps = 4096;

/// The weights of each tap of the depth, [M, C, H, W], of w [M, C, D, H, W]. Errors: more taps than
/// kMostTaps.
template <typename Node>
Result<std::vector<TensorId>> DepthTaps(Node& node, TensorId w) {
  const Shape shape = node.ShapeOf(w);
  if (shape[2] > kMostTaps) {
    return InputError("its window has {} taps along the depth, {} at most are supported", shape[2],
                      kMostTaps);
  }
  std::vector<TensorId> taps(static_cast<size_t>(shape[2]));
  for (size_t tap = 0; tap < taps.size(); ++tap) {
    TENON_ASSIGN_OR_RETURN(const TensorId one,
                           node.Slice(w, SliceAlong(shape, 2, static_cast<int64_t>(tap), 1)));
    TENON_ASSIGN_OR_RETURN(taps[tap], node.Reshape(one, {shape[0], shape[1], shape[3], shape[4]}));
  }
  return taps;
}

/// What x [N, D, C, H, W] gives [N, places, M, H', W'] with these weights of each tap of the depth
/// and a bias (none: kNone): one convolution of all its images for each tap, added up. Errors: the
/// window does not fit into the depth.
template <typename Node>
Result<TensorId> ConvolveVolume(Node& node, TensorId x, const std::vector<TensorId>& taps,
                                TensorId bias, const DepthWindow& depth,
                                const ConvAttributes& attributes) {
  // One volume is computed as the images that it is of, from one op to the next.
  if (node.ShapeOf(x)[0] == 1) {
    const Shape volume = node.ShapeOf(x);
    TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {volume[1], volume[2], volume[3], volume[4]}));
  }
  const bool is_one = node.ShapeOf(x).rank == 4;
  const int32_t axis = is_one ? 0 : 1;
  if (depth.begin != 0 || depth.end != 0) {
    PadAttributes pad;
    pad.rank = node.ShapeOf(x).rank;
    pad.begins[axis] = depth.begin;
    pad.ends[axis] = depth.end;
    TENON_ASSIGN_OR_RETURN(x, node.Emit(OpKind::kPad, {x}, Attributes(pad)));
  }
  const Shape shape = node.ShapeOf(x);
  const int64_t extent = (static_cast<int64_t>(taps.size()) - 1) * depth.dilation + 1;
  if (shape[axis] < extent) {
    return InputError("its window does not fit into the depth of its input");
  }
  const auto places = static_cast<int32_t>((shape[axis] - extent) / depth.stride + 1);
  TensorId sum = kNone;
  for (size_t tap = 0; tap < taps.size(); ++tap) {
    TENON_ASSIGN_OR_RETURN(
        TensorId images,
        node.Slice(x, SliceAlong(shape, axis, static_cast<int64_t>(tap) * depth.dilation, places,
                                 depth.stride)));
    if (!is_one) {
      TENON_ASSIGN_OR_RETURN(
          images, node.Reshape(images, {int64_t{shape[0]} * places, shape[2], shape[3], shape[4]}));
    }
    std::vector<TensorId> inputs = {images, taps[tap]};
    if (tap == 0 && bias != kNone) inputs.push_back(bias);
    TENON_ASSIGN_OR_RETURN(const TensorId y,
                           node.Emit(OpKind::kConv, inputs, Attributes(attributes)));
    if (sum == kNone) {
      sum = y;
    } else {
      TENON_ASSIGN_OR_RETURN(sum, node.Binary(BinaryFunction::kAdd, sum, y));
    }
  }
  const Shape image = node.ShapeOf(sum);
  return node.Reshape(sum, {image[0] / places, places, image[1], image[2], image[3]});
}

/// The three dimensions of a transposed convolution.
struct TransposedExtents {
  phases::Extent depth;
  phases::Extent height;
  phases::Extent width;
};

/// Phase `phase` of the depth, [N, D', M sh sw, H', W'], of x [N, D, C, H, W] with w [C, M / group,
/// D, H, W], whose depth has the zeros of its dilation and is a multiple of the stride.
template <typename Node>
Result<TensorId> DepthPhase(Node& node, TensorId x, TensorId w, TensorId bias,
                            const TransposedExtents& e, int32_t phase,
                            const ConvAttributes& attributes) {
  const auto count = static_cast<int32_t>(e.depth.PhaseTaps());
  const auto stride = static_cast<int32_t>(e.depth.stride);
  const int32_t last = phase + stride * (count - 1);
  TENON_ASSIGN_OR_RETURN(
      const TensorId reversed,
      node.Slice(w, SliceAlong(node.ShapeOf(w), 2, last, count, count == 1 ? 1 : -stride)));
  TENON_ASSIGN_OR_RETURN(std::vector<TensorId> taps, DepthTaps(node, reversed));
  for (TensorId& tap : taps) {
    TENON_ASSIGN_OR_RETURN(
        tap, phases::PhaseWeights(node, tap, int64_t{attributes.group}, e.height, e.width));
  }
  DepthWindow window;
  window.begin = count - 1;
  window.end = static_cast<int32_t>(e.depth.PhaseLength() - e.depth.input);
  return ConvolveVolume(node, x, taps, bias, window, attributes);
}

/// Phases of the depth, each [N, D', M, H, W], as [N, D' * phases, M, H, W]: places of one phase
/// lie a stride apart.
template <typename Node>
Result<TensorId> InterleavedPhases(Node& node, std::vector<TensorId> parts) {
  if (parts.size() == 1) return parts[0];
  const Shape part = node.ShapeOf(parts[0]);
  for (TensorId& each : parts) {
    TENON_ASSIGN_OR_RETURN(
        each, node.Reshape(each, {part[0], part[1], 1, part[2], int64_t{part[3]} * part[4]}));
  }
  ConcatAttributes concat;
  concat.axis = 2;
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Emit(OpKind::kConcat, parts, Attributes(concat)));
  const auto phases = static_cast<int64_t>(parts.size());
  return node.Reshape(y, {part[0], part[1] * phases, part[2], part[3], part[4]});
}

/// The transposed convolution of x [N, D, C, H, W] with w [C, M / group, D, H, W] and a bias [M]
/// (none: kNone): [N, D', M, H', W']. See conv_phases.hpp; along the depth each phase is a sum.
template <typename Node>
Result<TensorId> ConvolveTransposedVolume(Node& node, TensorId x, TensorId w, TensorId bias,
                                          int32_t group, const TransposedExtents& e) {
  ConvAttributes attributes;
  attributes.group = group;
  phases::SetPads(e.height, e.width, attributes);
  if (bias != kNone) {
    TENON_ASSIGN_OR_RETURN(bias, phases::PhaseBias(node, bias, e.height.stride * e.width.stride));
  }
  if (e.depth.stride * e.depth.PhaseTaps() > kMostTaps) {
    return InputError("its window has {} taps along the depth, {} at most are supported",
                      e.depth.stride * e.depth.PhaseTaps(), kMostTaps);
  }
  TENON_ASSIGN_OR_RETURN(w, phases::SpreadTaps(node, w, 2, e.depth));
  std::vector<TensorId> parts(static_cast<size_t>(e.depth.stride));
  for (size_t phase = 0; phase < parts.size(); ++phase) {
    TENON_ASSIGN_OR_RETURN(
        parts[phase], DepthPhase(node, x, w, bias, e, static_cast<int32_t>(phase), attributes));
  }
  TENON_ASSIGN_OR_RETURN(TensorId y, InterleavedPhases(node, parts));
  TENON_ASSIGN_OR_RETURN(
      y, node.Slice(y, SliceAlong(node.ShapeOf(y), 1, e.depth.before, e.depth.output)));
  const Shape all = node.ShapeOf(y);
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, {int64_t{all[0]} * all[1], all[2], all[3], all[4]}));
  TENON_ASSIGN_OR_RETURN(const phases::JoinedPhases joined,
                         phases::JoinPhases(node, y, e.height, e.width));
  TENON_ASSIGN_OR_RETURN(y, node.Slice(joined.y, joined.kept));
  const Shape image = node.ShapeOf(y);
  return node.Reshape(y, {all[0], all[1], image[1], image[2], image[3]});
}

}  // namespace tenon::converter::volumes

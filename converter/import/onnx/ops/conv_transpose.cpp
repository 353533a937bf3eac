// ConvTranspose: see conv_phases.hpp and depth_taps.hpp.
#include <algorithm>
#include <limits>

#include "converter/import/conv_phases.hpp"
#include "converter/import/depth_taps.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/onnx/ops/window.hpp"

namespace tenon::converter {
namespace {

using Ints = std::vector<int64_t>;
using phases::Extent;

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

/// (Depth,) height and width; a one-dimensional convolution has height 1.
Result<std::vector<Extent>> ReadExtents(Lowering& node, const Shape& x, const Shape& w) {
  if (x.rank != w.rank || x.rank < 3 || x.rank > 5) {
    return InputError("its input has {} dimensions; only one to three spatial ones are supported",
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

/// The phases as the output [N, M, ...].
Status JoinOutput(Lowering& node, TensorId y, const Extent& height, const Extent& width,
                  bool one_dimensional) {
  TENON_ASSIGN_OR_RETURN(const phases::JoinedPhases joined,
                         phases::JoinPhases(node, y, height, width));
  if (!one_dimensional) return node.Slice(joined.y, joined.kept, 0).status();
  TENON_ASSIGN_OR_RETURN(y, node.Slice(joined.y, joined.kept));
  const SliceAttributes& kept = joined.kept;
  return node.Reshape(y, {kept.sizes[0], kept.sizes[1], width.output}, 0).status();
}

/// What ConvTranspose reads.
struct TransposedConv {
  TensorId x = kNone;
  TensorId w = kNone;
  TensorId bias = kNone;  ///< none: kNone
  int32_t group = 1;
  std::vector<Extent> extents;
};

Status LowerImages(Lowering& node, const TransposedConv& read) {
  const Extent& height = read.extents[0];
  const Extent& width = read.extents[1];
  ConvAttributes conv;
  conv.group = read.group;
  phases::SetPads(height, width, conv);
  const bool one_dimensional = node.ShapeOf(read.x).rank == 3;
  TENON_ASSIGN_OR_RETURN(const TensorId x, WithHeight(node, read.x));
  TENON_ASSIGN_OR_RETURN(const TensorId w, WithHeight(node, read.w));
  std::vector<TensorId> inputs = {x, w};
  TENON_ASSIGN_OR_RETURN(inputs[ConvInput::kWeights],
                         phases::PhaseWeights(node, w, int64_t{read.group}, height, width));
  if (read.bias != kNone) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias,
                           phases::PhaseBias(node, read.bias, height.stride * width.stride));
    inputs.push_back(bias);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Emit(OpKind::kConv, inputs, Attributes(conv)));
  return JoinOutput(node, y, height, width, one_dimensional);
}

Status LowerVolume(Lowering& node, const TransposedConv& read) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Transpose(read.x, {0, 2, 1, 3, 4}));
  TENON_ASSIGN_OR_RETURN(
      const TensorId y,
      volumes::ConvolveTransposedVolume(node, x, read.w, read.bias, read.group,
                                        {read.extents[0], read.extents[1], read.extents[2]}));
  return node.Transpose(y, {0, 2, 1, 3, 4}, 0).status();
}

Status LowerConvTranspose(Lowering& node) {
  TransposedConv read;
  TENON_ASSIGN_OR_RETURN(read.x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(read.w, node.Input(1));
  const Shape x = node.ShapeOf(read.x);
  const Shape w = node.ShapeOf(read.w);
  TENON_ASSIGN_OR_RETURN(read.extents, ReadExtents(node, x, w));
  read.group = node.Int32("group", 1);
  if (read.group < 1 || x[1] % read.group != 0 || w[0] != x[1]) {
    return InputError("its weights do not fit {} channels in {} groups", x[1], read.group);
  }
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(read.bias, node.Input(2));
  }
  return x.rank == 5 ? LowerVolume(node, read) : LowerImages(node, read);
}

constexpr LoweringRow kConvTransposeRows[] = {
    {"ConvTranspose", LowerConvTranspose, {}, "f32 and f16; one to three spatial dimensions"},
};

}  // namespace

constexpr Span<const LoweringRow> kConvTransposeLowerings = kConvTransposeRows;

}  // namespace tenon::converter

// Conv; of com.microsoft FusedConv, and NhwcConv and NhwcFusedConv, whose channels come last.
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/onnx/ops/volume.hpp"
#include "converter/import/onnx/ops/window.hpp"

namespace tenon::converter {
namespace {

/// Conv, plus input 3, then an activation. With `channels_last`, x, input 3 and the result have
/// their channels behind the image; the weights are those of Conv.
Status EmitFusedConv(Lowering& node, bool channels_last) {
  constexpr int kAddend = 3;
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId w, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const UnaryAttributes activation, ReadActivation(node));
  if (channels_last) {
    if (node.ShapeOf(x).rank != 4) return InputError("its input must have four dimensions");
    TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, {0, 3, 1, 2}));
  }
  TENON_ASSIGN_OR_RETURN(TensorId y, EmitConv(node, x, w));
  if (channels_last) {
    TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {0, 2, 3, 1}));
  }
  if (node.HasInput(kAddend)) {
    TENON_ASSIGN_OR_RETURN(const TensorId addend, node.Input(kAddend));
    if (node.ShapeOf(addend) != node.ShapeOf(y)) {
      return InputError("input 3 is added to the result, but does not have its shape");
    }
    TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kAdd, y, addend));
  }
  return node.Unary(y, activation, 0).status();
}

Status LowerConv(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId w, node.Input(1));
  return EmitConv(node, x, w, 0).status();
}

Status LowerFusedConv(Lowering& node) { return EmitFusedConv(node, false); }

Status LowerNhwcConv(Lowering& node) { return EmitFusedConv(node, true); }

constexpr std::string_view kImageLimits = "f32 and f16, two spatial dimensions";

constexpr LoweringRow kConvRows[] = {
    {"Conv", LowerConv, {}, kProductLimits},
    {"FusedConv", LowerFusedConv, "com.microsoft", kProductLimits},
    {"NhwcConv", LowerNhwcConv, "com.microsoft", kImageLimits},
    {"NhwcFusedConv", LowerNhwcConv, "com.microsoft", kImageLimits},
};

}  // namespace

Result<ConvAttributes> ReadConv(Lowering& node, TensorId x, TensorId w) {
  const Shape x_shape = node.ShapeOf(x);
  const Shape w_shape = node.ShapeOf(w);
  if (w_shape.rank != x_shape.rank) {
    return InputError("its weights have {} dimensions, its input {}", w_shape.rank, x_shape.rank);
  }
  std::vector<int64_t> kernel(w_shape.dims + std::min(2, w_shape.rank),
                              w_shape.dims + w_shape.rank);
  const std::vector<int64_t> declared = node.Ints("kernel_shape");
  if (!declared.empty() && declared != kernel) {
    return InputError("kernel_shape is not that of its weights");
  }
  TENON_ASSIGN_OR_RETURN(const Window window, ReadWindow(node, x_shape, kernel));
  ConvAttributes attributes;
  attributes.group = node.Int32("group", 1);
  SetWindow(window, attributes);
  return attributes;
}

Result<TensorId> EmitConv(Lowering& node, TensorId x, TensorId w, int output) {
  const int32_t rank = node.ShapeOf(x).rank;
  if (rank == 5) return EmitVolumeConv(node, x, w, output);
  if (rank > 5) {
    return InputError("its input has {} dimensions; only up to three spatial ones are supported",
                      rank);
  }
  TENON_ASSIGN_OR_RETURN(const ConvAttributes attributes, ReadConv(node, x, w));
  std::vector<TensorId> inputs(2);
  TENON_ASSIGN_OR_RETURN(inputs[ConvInput::kX], WithHeight(node, x));
  TENON_ASSIGN_OR_RETURN(inputs[ConvInput::kWeights], WithHeight(node, w));
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(2));
    inputs.push_back(bias);
  }
  return EmitWindowed(node, OpKind::kConv, inputs, Attributes(attributes), rank == 3, output);
}

constexpr Span<const LoweringRow> kConvLowerings = kConvRows;

}  // namespace tenon::converter

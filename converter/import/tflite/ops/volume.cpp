// CONV_3D: see depth_taps.hpp.
#include "converter/import/depth_taps.hpp"
#include "converter/import/tflite/ops/window.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {

// x [N, D, H, W, C], weights [D, H, W, C, M], bias.
Status LowerVolumeConv(Node& node) {
  const auto* options = node.stored().builtin_options_as_Conv3DOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId w, node.Input(1));
  const Shape shape = node.ShapeOf(x);
  const Shape weights = node.ShapeOf(w);
  if (shape.rank != 5 || weights.rank != 5 || shape[4] != weights[3]) {
    return InputError("its input and weights are no volumes of equally many channels");
  }
  const format::Padding padding = options->padding();
  TENON_ASSIGN_OR_RETURN(const WindowPads depth, PadsOf(padding, weights[0], options->stride_d(),
                                                        options->dilation_d_factor(), shape[1]));
  ConvAttributes image;
  image.strides[0] = options->stride_h();
  image.strides[1] = options->stride_w();
  image.dilations[0] = options->dilation_h_factor();
  image.dilations[1] = options->dilation_w_factor();
  const int32_t kernel[2] = {weights[1], weights[2]};
  TENON_RETURN_IF_ERROR(
      SetPads(padding, kernel, image.strides, image.dilations, shape[2], shape[3], image.pads));
  TENON_ASSIGN_OR_RETURN(const TensorId planes, node.Transpose(x, {0, 1, 4, 2, 3}));
  TENON_ASSIGN_OR_RETURN(const TensorId outputs_first, node.Transpose(w, {4, 3, 0, 1, 2}));
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> taps, volumes::DepthTaps(node, outputs_first));
  TensorId bias = kNone;
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(bias, node.Input(2));
  }
  TENON_ASSIGN_OR_RETURN(
      TensorId y,
      volumes::ConvolveVolume(
          node, planes, taps, bias,
          {options->stride_d(), options->dilation_d_factor(), depth.before, depth.after}, image));
  TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {0, 1, 3, 4, 2}));
  TENON_ASSIGN_OR_RETURN(y, node.Activate(y, options->fused_activation_function()));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite

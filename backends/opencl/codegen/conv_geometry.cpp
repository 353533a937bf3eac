#include "backends/opencl/codegen/conv_geometry.hpp"

#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

/// Gives the strides of images, rows and columns for the outputs' positions.
struct PixelSteps {
  int32_t image, row, column;
};

/// The one distance from pixel to pixel, or -1 if there is none.
int32_t EvenStep(const TileParameters& p, const PixelSteps& steps) {
  const int32_t images = p.pixels / (p.output_rows * p.output_columns);
  const int32_t dims[3] = {images, p.output_rows, p.output_columns};
  const int32_t strides[3] = {steps.image, steps.row, steps.column};
  int64_t step = -1;  // of the dimensions so far
  int64_t next = 0;   // what the next dimension's must be
  for (int k = 2; k >= 0; --k) {
    if (dims[k] == 1) continue;
    if (step < 0) step = strides[k];
    if (next != 0 && strides[k] != next) return -1;
    next = int64_t{strides[k]} * dims[k];
  }
  return static_cast<int32_t>(step < 0 ? 0 : step);
}

}  // namespace

MatrixView ConvMatrix(const OpCall& conv) {
  const TensorView& w = conv.Input(ConvInput::kWeights);
  MatrixView matrix;
  matrix.data = w.As<const float>();
  matrix.groups = conv.AttributesAs<ConvAttributes>().group;
  matrix.columns = w.dims[0] / matrix.groups;
  matrix.depth = w.dims[1];
  matrix.taps_y = w.dims[2];
  matrix.taps_x = w.dims[3];
  matrix.group_step = int64_t{w.strides[0]} * matrix.columns;
  matrix.column_step = w.strides[0];
  matrix.depth_step = w.strides[1];
  matrix.tap_y_step = w.strides[2];
  matrix.tap_x_step = w.strides[3];
  if (conv.HasInput(ConvInput::kBias)) {
    const TensorView& bias = conv.Input(ConvInput::kBias);
    matrix.bias = bias.As<const float>();
    matrix.bias_step = bias.strides[0];
    matrix.bias_group_step = int64_t{bias.strides[0]} * matrix.columns;
  }
  return matrix;
}

TileParameters ConvParameters(const OpCall& conv, const TileShape& shape) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  const TensorView& x = conv.Input(ConvInput::kX);
  const TensorView& w = conv.Input(ConvInput::kWeights);
  const TensorView& y = conv.Output();
  TileParameters p;
  p.pixels = y.dims[0] * y.dims[2] * y.dims[3];
  p.channels = w.dims[1];
  p.outputs = w.dims[0] / attributes.group;
  p.blocks = BlocksOf(p.outputs, shape);
  p.weight_groups = attributes.group;
  p.output_rows = y.dims[2];
  p.output_columns = y.dims[3];
  p.input_rows = x.dims[2];
  p.input_columns = x.dims[3];
  p.taps_y = w.dims[2];
  p.taps_x = w.dims[3];
  p.stride_y = attributes.strides[0];
  p.stride_x = attributes.strides[1];
  p.dilation_y = attributes.dilations[0];
  p.dilation_x = attributes.dilations[1];
  p.pad_top = attributes.pads[0];
  p.pad_left = attributes.pads[1];
  p.x_image = x.strides[0];
  p.x_channel = x.dims[1] == 1 ? 1 : x.strides[1];
  p.x_group = p.x_channel * p.channels;
  p.x_row = x.strides[2];
  p.x_pixel = x.strides[3];
  const bool is_run = p.x_channel == 1 && p.x_pixel * p.dilation_x == p.channels;
  p.runs_x = is_run ? 1 : p.taps_x;
  p.run_length = is_run ? p.taps_x * p.channels : p.channels;
  p.run_step = p.dilation_x * p.x_pixel;
  p.y_image = y.strides[0];
  p.y_channel = y.dims[1] == 1 ? 1 : y.strides[1];
  p.y_group = p.y_channel * p.outputs;
  p.y_row = y.strides[2];
  p.y_pixel = y.strides[3];
  if (conv.HasInput(ConvInput::kResidual)) {
    const TensorView& residual = conv.Input(ConvInput::kResidual);
    p.has_residual = 1;
    p.residual_image = residual.strides[0];
    p.residual_channel = residual.dims[1] == 1 ? 1 : residual.strides[1];
    p.residual_group = p.residual_channel * p.outputs;
    p.residual_row = residual.strides[2];
    p.residual_pixel = residual.strides[3];
  }
  const ActivationArguments activation = ArgumentsOf(attributes.activation);
  p.a = activation.a;
  p.b = activation.b;
  return p;
}

bool MakeGemm(TileParameters& p) {
  if (p.taps_y * p.taps_x != 1 || p.y_channel != 1 || p.residual_channel != 1) return false;
  // Padding shows as outputs whose one tap lies outside.
  if (p.pad_top != 0 || p.pad_left != 0) return false;
  if ((p.output_rows - 1) * p.stride_y >= p.input_rows ||
      (p.output_columns - 1) * p.stride_x >= p.input_columns) {
    return false;
  }
  const int32_t x = EvenStep(p, {p.x_image, p.x_row * p.stride_y, p.x_pixel * p.stride_x});
  const int32_t y = EvenStep(p, {p.y_image, p.y_row, p.y_pixel});
  const int32_t residual = EvenStep(p, {p.residual_image, p.residual_row, p.residual_pixel});
  if (x < 0 || y < 0 || residual < 0) return false;
  p.x_pixel = x;
  p.y_pixel = y;
  p.residual_pixel = residual;
  return true;
}

bool HasScatteredChannels(const TensorView& x) { return x.dims[1] != 1 && x.strides[1] != 1; }

std::string DepthwiseOptions(const OpCall& op) {
  const auto& attributes = op.AttributesAs<ConvAttributes>();
  const TensorView& w = op.Input(ConvInput::kWeights);
  const int32_t taps = w.dims[2];
  const int32_t stride = attributes.strides[1];
  // The usual ones have their loops unrolled.
  const bool is_square = taps == w.dims[3] && (taps == 3 || taps == 5) && stride <= 2 &&
                         attributes.dilations[0] == 1 && attributes.dilations[1] == 1;
  return "-DTAPS=" + std::to_string(is_square ? taps : 0) +
         " -DSTRIDE=" + std::to_string(is_square ? stride : 1) + " " +
         FunctionOption(attributes.activation);
}

}  // namespace tenon::opencl

// Convolution, Deconvolution (see conv_phases.hpp) and InnerProduct.
#include <algorithm>

#include "caffe_subset.pb.h"
#include "converter/import/caffe/lowering_table.hpp"
#include "converter/import/conv_phases.hpp"

namespace tenon::converter::caffe {
namespace {

/// Height and width of one parameter: two fields of their own, or a list of one or two.
template <typename List>
Result<std::pair<int32_t, int32_t>> HeightAndWidth(const char* name, bool has_own, uint32_t height,
                                                   uint32_t width, const List& list,
                                                   uint32_t otherwise) {
  uint32_t values[2] = {height, width};
  if (!has_own) {
    if (list.size() > 2) return InputError("{} has {} values: images have two", name, list.size());
    for (int i = 0; i < 2; ++i) {
      values[i] = list.empty() ? otherwise : list.Get(std::min(i, list.size() - 1));
    }
  }
  for (const uint32_t value : values) {
    if (value > (1U << 28)) return InputError("{} is {}, out of range", name, value);
  }
  return std::pair(static_cast<int32_t>(values[0]), static_cast<int32_t>(values[1]));
}

/// What convolutions and their transposes are given.
struct Window {
  TensorId x = kNone;
  int32_t outputs = 0;
  int32_t group = 1;
  std::pair<int32_t, int32_t> kernel;
  std::pair<int32_t, int32_t> stride;
  std::pair<int32_t, int32_t> pad;
  std::pair<int32_t, int32_t> dilation;
};

Result<Window> ReadWindow(Layer& layer) {
  const format::Convolution& given = layer.stored().convolution_param();
  Window read;
  TENON_ASSIGN_OR_RETURN(read.x, layer.Bottom(0));
  const Shape shape = layer.ShapeOf(read.x);
  if (shape.rank != 4 || given.axis() != 1) {
    return InputError("its input has {} dimensions; images with channels at axis 1 are supported",
                      shape.rank);
  }
  if (layer.BottomCount() != 1 || layer.TopCount() != 1) {
    return InputError("several inputs that share weights are not supported");
  }
  TENON_ASSIGN_OR_RETURN(read.kernel,
                         HeightAndWidth("kernel_size", given.has_kernel_h(), given.kernel_h(),
                                        given.kernel_w(), given.kernel_size(), 0));
  TENON_ASSIGN_OR_RETURN(read.stride,
                         HeightAndWidth("stride", given.has_stride_h(), given.stride_h(),
                                        given.stride_w(), given.stride(), 1));
  TENON_ASSIGN_OR_RETURN(read.pad, HeightAndWidth("pad", given.has_pad_h() || given.has_pad_w(),
                                                  given.pad_h(), given.pad_w(), given.pad(), 0));
  TENON_ASSIGN_OR_RETURN(read.dilation,
                         HeightAndWidth("dilation", false, 1, 1, given.dilation(), 1));
  read.group = static_cast<int32_t>(given.group());
  read.outputs = static_cast<int32_t>(given.num_output());
  if (read.group < 1 || read.outputs < 1 || shape[1] % read.group != 0 ||
      read.outputs % read.group != 0) {
    return InputError("{} groups do not divide {} inputs and {} outputs", given.group(), shape[1],
                      given.num_output());
  }
  return read;
}

Status LowerConvolution(Layer& layer) {
  TENON_ASSIGN_OR_RETURN(const Window window, ReadWindow(layer));
  ConvAttributes attributes;
  attributes.group = window.group;
  std::tie(attributes.strides[0], attributes.strides[1]) = window.stride;
  std::tie(attributes.dilations[0], attributes.dilations[1]) = window.dilation;
  for (const int side : {0, 2}) {
    std::tie(attributes.pads[side], attributes.pads[side + 1]) = window.pad;
  }
  const int32_t depth = layer.ShapeOf(window.x)[1] / window.group;
  TENON_ASSIGN_OR_RETURN(
      const TensorId weights,
      layer.Weights(0, "weights",
                    Shape({window.outputs, depth, window.kernel.first, window.kernel.second})));
  std::vector<TensorId> inputs = {window.x, weights};
  if (layer.stored().convolution_param().bias_term()) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, layer.Weights(1, "bias", Shape({window.outputs})));
    inputs.push_back(bias);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         layer.Emit(OpKind::kConv, inputs, Attributes(attributes)));
  return layer.SetTop(0, y);
}

/// One direction of a transposed convolution.
Result<phases::Extent> ExtentOf(int32_t input, int32_t kernel, int32_t stride, int32_t pad,
                                int32_t dilation) {
  phases::Extent extent;
  if (kernel < 1 || stride < 1 || dilation < 1) {
    return InputError("strides, dilations and kernel must be at least 1");
  }
  extent.input = input;
  extent.taps = kernel;
  extent.kernel = (int64_t{kernel} - 1) * dilation + 1;
  extent.stride = stride;
  extent.dilation = dilation;
  extent.before = pad;
  extent.output = (int64_t{input} - 1) * stride + extent.kernel - 2 * int64_t{pad};
  if (extent.output < 1 || extent.output > (1 << 28)) {
    return InputError("its output has the size {}", extent.output);
  }
  return extent;
}

// Weights [inputs, outputs / group, KH, KW].
Status LowerDeconvolution(Layer& layer) {
  TENON_ASSIGN_OR_RETURN(const Window window, ReadWindow(layer));
  const Shape shape = layer.ShapeOf(window.x);
  TENON_ASSIGN_OR_RETURN(const phases::Extent height,
                         ExtentOf(shape[2], window.kernel.first, window.stride.first,
                                  window.pad.first, window.dilation.first));
  TENON_ASSIGN_OR_RETURN(const phases::Extent width,
                         ExtentOf(shape[3], window.kernel.second, window.stride.second,
                                  window.pad.second, window.dilation.second));
  ConvAttributes attributes;
  attributes.group = window.group;
  phases::SetPads(height, width, attributes);
  TENON_ASSIGN_OR_RETURN(TensorId weights,
                         layer.Weights(0, "weights",
                                       Shape({shape[1], window.outputs / window.group,
                                              window.kernel.first, window.kernel.second})));
  TENON_ASSIGN_OR_RETURN(weights,
                         phases::PhaseWeights(layer, weights, window.group, height, width));
  std::vector<TensorId> inputs = {window.x, weights};
  if (layer.stored().convolution_param().bias_term()) {
    TENON_ASSIGN_OR_RETURN(TensorId bias, layer.Weights(1, "bias", Shape({window.outputs})));
    TENON_ASSIGN_OR_RETURN(bias, phases::PhaseBias(layer, bias, height.stride * width.stride));
    inputs.push_back(bias);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         layer.Emit(OpKind::kConv, inputs, Attributes(attributes)));
  TENON_ASSIGN_OR_RETURN(const phases::JoinedPhases joined,
                         phases::JoinPhases(layer, y, height, width));
  TENON_ASSIGN_OR_RETURN(const TensorId kept, layer.Slice(joined.y, joined.kept));
  return layer.SetTop(0, kept);
}

Status LowerInnerProduct(Layer& layer) {
  const format::InnerProduct& given = layer.stored().inner_product_param();
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  const Shape shape = layer.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int32_t axis, layer.Axis(given.axis(), shape.rank));
  int64_t rows = 1;
  int64_t depth = 1;
  std::vector<int64_t> dims;
  for (int32_t i = 0; i < shape.rank; ++i) {
    (i < axis ? rows : depth) *= shape[i];
    if (i < axis) dims.push_back(shape[i]);
  }
  const auto outputs = static_cast<int32_t>(given.num_output());
  if (outputs < 1) return InputError("num_output is {}, out of range", given.num_output());
  dims.push_back(outputs);
  TENON_ASSIGN_OR_RETURN(const TensorId flat, layer.Reshape(x, {rows, depth}));
  const auto inputs_of_each = static_cast<int32_t>(depth);
  MatMulAttributes attributes;
  attributes.transpose_b = given.transpose() ? 0 : 1;
  TENON_ASSIGN_OR_RETURN(const TensorId weights,
                         layer.Weights(0, "weights",
                                       given.transpose() ? Shape({inputs_of_each, outputs})
                                                         : Shape({outputs, inputs_of_each})));
  std::vector<TensorId> inputs = {flat, weights};
  if (given.bias_term()) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, layer.Weights(1, "bias", Shape({outputs})));
    inputs.push_back(bias);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId product,
                         layer.Emit(OpKind::kMatMul, inputs, Attributes(attributes)));
  TENON_ASSIGN_OR_RETURN(const TensorId y, layer.Reshape(product, dims));
  return layer.SetTop(0, y);
}

constexpr LoweringRow kConvolutionLowerings[] = {
    {"Convolution", LowerConvolution, "images of two dimensions; one input"},
    {"Deconvolution", LowerDeconvolution, "images of two dimensions; one input"},
    {"InnerProduct", LowerInnerProduct},
};

}  // namespace

constexpr Span<const LoweringRow> kConvolutionRows = kConvolutionLowerings;

}  // namespace tenon::converter::caffe

// Launches convolutions that follow their definition.
#include "backends/opencl/kernels/conv_kernels.hpp"
#include "backends/opencl/kernels/tile.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

/// As in conv_reference.cl.
struct ConvReferenceParameters {
  int32_t images = 0, outputs = 0, output_rows = 0, output_columns = 0;
  int32_t input_rows = 0, input_columns = 0;
  int32_t channels = 0, outputs_per_group = 0;
  int32_t taps_y = 0, taps_x = 0;
  int32_t stride_y = 1, stride_x = 1;
  int32_t dilation_y = 1, dilation_x = 1;
  int32_t pad_top = 0, pad_left = 0;
  int32_t x[4] = {}, w[4] = {}, y[4] = {}, residual[4] = {}, bias = 0;
  int32_t has_bias = 0, has_residual = 0;
  float a = 0.0F, b = 0.0F;
};

void CopyStrides(const TensorView& view, int32_t* to) {
  for (int k = 0; k < 4; ++k) to[k] = view.strides[k];
}

ConvReferenceParameters ConvReferenceParametersOf(const OpCall& op) {
  const auto& attributes = op.AttributesAs<ConvAttributes>();
  const TensorView& x = op.Input(ConvInput::kX);
  const TensorView& w = op.Input(ConvInput::kWeights);
  const TensorView& y = op.Output();
  ConvReferenceParameters p;
  p.images = y.dims[0];
  p.outputs = y.dims[1];
  p.output_rows = y.dims[2];
  p.output_columns = y.dims[3];
  p.input_rows = x.dims[2];
  p.input_columns = x.dims[3];
  p.channels = w.dims[1];
  p.outputs_per_group = w.dims[0] / attributes.group;
  p.taps_y = w.dims[2];
  p.taps_x = w.dims[3];
  p.stride_y = attributes.strides[0];
  p.stride_x = attributes.strides[1];
  p.dilation_y = attributes.dilations[0];
  p.dilation_x = attributes.dilations[1];
  p.pad_top = attributes.pads[0];
  p.pad_left = attributes.pads[1];
  CopyStrides(x, p.x);
  CopyStrides(w, p.w);
  CopyStrides(y, p.y);
  if (op.HasInput(ConvInput::kBias)) {
    p.has_bias = 1;
    p.bias = op.Input(ConvInput::kBias).strides[0];
  }
  if (op.HasInput(ConvInput::kResidual)) {
    p.has_residual = 1;
    CopyStrides(op.Input(ConvInput::kResidual), p.residual);
  }
  const ActivationArguments activation = ArgumentsOf(attributes.activation);
  p.a = activation.a;
  p.b = activation.b;
  return p;
}

}  // namespace

ProgramChoice ConvReferenceChoice(const KernelSetup& setup) {
  return {"conv_reference.cl", FunctionOption(setup.op.AttributesAs<ConvAttributes>().activation),
          "conv_reference"};
}

Status ConvReferenceRun(const KernelCall& call) {
  const ConvReferenceParameters p = ConvReferenceParametersOf(call.op);
  return Launch(call)
      .Input(ConvInput::kX)
      .Input(ConvInput::kWeights)
      .Input(ConvInput::kBias)
      .Input(ConvInput::kResidual)
      .Output()
      .Value(p)
      .Enqueue({static_cast<size_t>(p.outputs),
                static_cast<size_t>(p.output_rows) * static_cast<size_t>(p.output_columns),
                static_cast<size_t>(p.images)},
               {16, 4});
}

}  // namespace tenon::opencl

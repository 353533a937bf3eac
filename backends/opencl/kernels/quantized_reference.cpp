// Launches quantized convolutions and matrix products that follow their definition.
#include <algorithm>

#include "backends/opencl/kernels/quantized_gemm.hpp"
#include "backends/opencl/kernels/row_launch.hpp"

namespace tenon::opencl {
namespace {

// As in quantized_reference.cl.
struct VectorParameters {
  int32_t x_flip = 0, w_flip = 0;
  int32_t bias = 0, multiplier = 0, shift = 0, x_zero = 0, w_zero = 0;
  QuantizedOutput output;
};

struct QuantizedConvReference {
  int32_t outputs = 0, output_rows = 0, output_columns = 0, images = 0;
  int32_t input_rows = 0, input_columns = 0;
  int32_t channels = 0, outputs_per_group = 0;
  int32_t taps_y = 0, taps_x = 0;
  int32_t stride_y = 1, stride_x = 1;
  int32_t dilation_y = 1, dilation_x = 1;
  int32_t pad_top = 0, pad_left = 0;
  int32_t x[4] = {}, w[4] = {}, y[4] = {};
  VectorParameters vectors;
};

struct QuantizedMatMulReference {
  int32_t rank = 0;
  int32_t depth = 0;
  int32_t dims[kMaxRank] = {};
  int32_t a[kMaxRank] = {}, b[kMaxRank] = {}, y[kMaxRank] = {};
  int32_t a_depth = 0, b_depth = 0;
  VectorParameters vectors;
};
static_assert(kMaxRank == 8, "MOST_DIMS of quantized_reference.cl");
static_assert(sizeof(QuantizedMatMulReference) <= Kernel::kMostArgumentBytes,
              "an argument must fit");

/// 0: one element for all, or none.
int32_t VectorStride(const OpCall& op, int index) {
  if (!op.HasInput(index)) return 0;
  const TensorView& vector = op.Input(index);
  return vector.dims[0] == 1 ? 0 : vector.strides[0];
}

VectorParameters VectorsOf(const OpCall& op, const QuantizedOutput& output) {
  VectorParameters p;
  p.x_flip = SignFlip(op.Input(QuantizedGemmInput::kX).dtype);
  p.w_flip = SignFlip(op.Input(QuantizedGemmInput::kWeights).dtype);
  p.bias = VectorStride(op, QuantizedGemmInput::kBias);
  p.multiplier = VectorStride(op, QuantizedGemmInput::kMultiplier);
  p.shift = VectorStride(op, QuantizedGemmInput::kShift);
  p.x_zero = VectorStride(op, QuantizedGemmInput::kXZeroPoint);
  p.w_zero = VectorStride(op, QuantizedGemmInput::kWeightsZeroPoint);
  p.output = output;
  return p;
}

QuantizedConvReference ParametersOfConv(const OpCall& op) {
  const auto& attributes = op.AttributesAs<QuantizedConvAttributes>();
  const TensorView& x = op.Input(QuantizedGemmInput::kX);
  const TensorView& w = op.Input(QuantizedGemmInput::kWeights);
  const TensorView& y = op.Output();
  QuantizedConvReference p;
  p.images = y.dims[0];
  p.outputs = y.dims[1];
  p.output_rows = y.dims[2];
  p.output_columns = y.dims[3];
  p.input_rows = x.dims[2];
  p.input_columns = x.dims[3];
  p.channels = w.dims[1];
  p.outputs_per_group = w.dims[0] / attributes.conv.group;
  p.taps_y = w.dims[2];
  p.taps_x = w.dims[3];
  p.stride_y = attributes.conv.strides[0];
  p.stride_x = attributes.conv.strides[1];
  p.dilation_y = attributes.conv.dilations[0];
  p.dilation_x = attributes.conv.dilations[1];
  p.pad_top = attributes.conv.pads[0];
  p.pad_left = attributes.conv.pads[1];
  std::copy_n(x.strides, 4, p.x);
  std::copy_n(w.strides, 4, p.w);
  std::copy_n(y.strides, 4, p.y);
  p.vectors = VectorsOf(op, attributes.output);
  return p;
}

QuantizedMatMulReference ParametersOfMatMul(const OpCall& op) {
  const auto& attributes = op.AttributesAs<QuantizedMatMulAttributes>();
  const TensorView& a = op.Input(QuantizedGemmInput::kX);
  const TensorView& b = op.Input(QuantizedGemmInput::kWeights);
  const TensorView& y = op.Output();
  QuantizedMatMulReference p;
  p.rank = y.rank;
  const int row = y.rank - 2;
  const int column = y.rank - 1;
  for (int k = 0; k < y.rank; ++k) {
    p.dims[k] = y.dims[k];
    p.y[k] = y.strides[k];
    if (k < row) {
      p.a[k] = BroadcastStride(a, y.rank, k);
      p.b[k] = BroadcastStride(b, y.rank, k);
    }
  }
  const int a_depth = a.rank - 1 - attributes.matmul.transpose_a;
  p.a[row] = a.strides[a.rank - 2 + attributes.matmul.transpose_a];
  p.a_depth = a.strides[a_depth];
  p.depth = a.dims[a_depth];
  p.b[column] = b.strides[b.rank - 1 - attributes.matmul.transpose_b];
  p.b_depth = b.strides[b.rank - 2 + attributes.matmul.transpose_b];
  p.vectors = VectorsOf(op, attributes.output);
  return p;
}

Launch& Operands(Launch& launch) {
  return launch.Input(QuantizedGemmInput::kX)
      .Input(QuantizedGemmInput::kWeights)
      .Input(QuantizedGemmInput::kBias)
      .Input(QuantizedGemmInput::kMultiplier)
      .Input(QuantizedGemmInput::kShift)
      .Input(QuantizedGemmInput::kXZeroPoint)
      .Input(QuantizedGemmInput::kWeightsZeroPoint)
      .Output();
}

}  // namespace

std::string QuantizedOptions(const QuantizedOutput& output) {
  switch (static_cast<DType>(output.to)) {
    case DType::kI32:
      return "-DQUANTIZED -DY=int -DGIVES_SUMS";
    case DType::kF32:
      return "-DQUANTIZED -DY=float -DGIVES_FLOATS";
    default:
      return "-DQUANTIZED -DY=uchar";
  }
}

ProgramChoice QuantizedConvReferenceChoice(const KernelSetup& setup) {
  const auto& attributes = setup.op.AttributesAs<QuantizedConvAttributes>();
  return {"quantized_reference.cl", QuantizedOptions(attributes.output), "quantized_conv"};
}

Status QuantizedConvReferenceRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  const QuantizedConvReference p = ParametersOfConv(call.op);
  Launch launch(call);
  return Operands(launch).Value(p).Enqueue(
      {static_cast<size_t>(p.outputs),
       static_cast<size_t>(p.output_rows) * static_cast<size_t>(p.output_columns),
       static_cast<size_t>(p.images)},
      {16, 4});
}

ProgramChoice QuantizedMatMulReferenceChoice(const KernelSetup& setup) {
  const auto& attributes = setup.op.AttributesAs<QuantizedMatMulAttributes>();
  return {"quantized_reference.cl", QuantizedOptions(attributes.output), "quantized_matmul"};
}

Status QuantizedMatMulReferenceRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  Launch launch(call);
  return Operands(launch)
      .Value(ParametersOfMatMul(call.op))
      .Enqueue(static_cast<size_t>(call.op.Output().Elements()), kRowGroup);
}

}  // namespace tenon::opencl

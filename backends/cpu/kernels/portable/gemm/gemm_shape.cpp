#include "backends/cpu/kernels/portable/gemm/gemm_shape.hpp"

namespace tenon::cpu::portable {
namespace {

int Blocks(int count, int size) { return count / size + (count % size != 0 ? 1 : 0); }

}  // namespace

void SetConvShape(const OpCall& conv, GemmShape& shape) {
  const TensorView& x = conv.Input(0);
  const TensorView& w = conv.Input(GemmInput::kWeights);
  const TensorView& y = conv.Output();
  SetConvWindow(conv, shape);
  shape.x_channel = x.strides[1];
  shape.x_row = x.strides[2];
  shape.x_column = x.strides[3];
  shape.w_output = w.strides[0];
  shape.w_channel = w.strides[1];
  shape.w_row = w.strides[2];
  shape.w_column = w.strides[3];
  shape.y_output = y.strides[1];
  shape.y_row = y.strides[2];
  shape.y_column = y.strides[3];
  // One input and one output per group: groups become the lanes of one GEMM.
  const int group = conv.AttributesAs<ConvAttributes>().group;
  shape.depthwise = group > 1 && w.dims[1] == 1 && w.dims[0] == group;
  shape.channels = w.dims[1];
  shape.outputs = shape.depthwise ? w.dims[0] : w.dims[0] / group;
}

void SetMatMulShape(const OpCall& call, const MatMulAttributes& attributes, GemmShape& shape) {
  const TensorView& a = call.Input(0);
  const TensorView& b = call.Input(GemmInput::kWeights);
  const TensorView& y = call.Output();
  const int transpose_a = attributes.transpose_a != 0 ? 1 : 0;
  const int transpose_b = attributes.transpose_b != 0 ? 1 : 0;
  SetPointWindow(y.dims[y.rank - 2], shape);
  shape.channels = a.dims[a.rank - 1 - transpose_a];
  shape.outputs = y.dims[y.rank - 1];
  shape.x_channel = a.strides[a.rank - 1 - transpose_a];
  shape.x_column = a.strides[a.rank - 2 + transpose_a];
  shape.w_channel = b.strides[b.rank - 2 + transpose_b];
  shape.w_output = b.strides[b.rank - 1 - transpose_b];
  shape.y_output = y.strides[y.rank - 1];
  shape.y_column = y.strides[y.rank - 2];
}

int CountGemmTasks(const GemmShape& shape, int positions, int lanes) {
  return Blocks(shape.Positions(), positions) * Blocks(shape.outputs, lanes);
}

GemmTask GemmTaskAt(const GemmShape& shape, int task, int positions, int lanes) {
  const int output_blocks = Blocks(shape.outputs, lanes);
  GemmTask result;
  result.first_output = task % output_blocks * lanes;
  const int outputs = shape.outputs - result.first_output;
  result.lanes = outputs < lanes ? outputs : lanes;
  result.first_position = task / output_blocks * positions;
  const int left = shape.Positions() - result.first_position;
  result.positions = left < positions ? left : positions;
  return result;
}

}  // namespace tenon::cpu::portable

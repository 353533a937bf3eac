// Launches matrix products that follow their definition.
#include "backends/opencl/kernels/conv_kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "backends/opencl/kernels/tile.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

/// As in matmul_reference.cl.
struct MatMulReferenceParameters {
  int32_t rank = 0;
  int32_t depth = 0;
  int32_t dims[kMaxRank] = {};
  int32_t a[kMaxRank] = {}, b[kMaxRank] = {}, bias[kMaxRank] = {}, y[kMaxRank] = {};
  int32_t a_depth = 0, b_depth = 0;
  int32_t has_bias = 0;
  float first = 0.0F, second = 0.0F;
};
static_assert(kMaxRank == 8, "MOST_DIMS of matmul_reference.cl");

MatMulReferenceParameters MatMulReferenceParametersOf(const OpCall& op) {
  const auto& attributes = op.AttributesAs<MatMulAttributes>();
  const TensorView& a = op.Input(MatMulInput::kX);
  const TensorView& b = op.Input(MatMulInput::kWeights);
  const TensorView& y = op.Output();
  MatMulReferenceParameters p;
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
    if (op.HasInput(MatMulInput::kBias))
      p.bias[k] = BroadcastStride(op.Input(MatMulInput::kBias), y.rank, k);
  }
  const int a_row = a.rank - 2 + attributes.transpose_a;
  const int a_depth = a.rank - 1 - attributes.transpose_a;
  p.a[row] = a.strides[a_row];
  p.a_depth = a.strides[a_depth];
  p.depth = a.dims[a_depth];
  p.b[column] = b.strides[b.rank - 1 - attributes.transpose_b];
  p.b_depth = b.strides[b.rank - 2 + attributes.transpose_b];
  p.has_bias = op.HasInput(MatMulInput::kBias) ? 1 : 0;
  const ActivationArguments activation = ArgumentsOf(attributes.activation);
  p.first = activation.a;
  p.second = activation.b;
  return p;
}

}  // namespace

ProgramChoice MatMulReferenceChoice(const KernelSetup& setup) {
  return {"matmul_reference.cl",
          FunctionOption(setup.op.AttributesAs<MatMulAttributes>().activation), "matmul_reference"};
}

Status MatMulReferenceRun(const KernelCall& call) {
  return Launch(call)
      .Input(MatMulInput::kX)
      .Input(MatMulInput::kWeights)
      .Input(MatMulInput::kBias)
      .Output()
      .Value(MatMulReferenceParametersOf(call.op))
      .Enqueue(static_cast<size_t>(call.op.Output().Elements()), kRowGroup);
}

}  // namespace tenon::opencl

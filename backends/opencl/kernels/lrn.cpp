#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

struct Int2 {
  int32_t v[2];
};

}  // namespace

ProgramChoice LrnChoice(const KernelSetup& setup) { return LrnProgram(setup.op); }

Status LrnRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<LrnAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  LoopNest<2> nest;
  for (int k = 0; k < y.rank; ++k) {
    if (k != 1) nest.Add(y.dims[k], y.strides[k], x.strides[k]);
  }
  nest.Simplify();
  // Channels are the row, however many there are.
  nest.dims[nest.rank] = y.dims[1];
  nest.strides[0][nest.rank] = y.strides[1];
  nest.strides[1][nest.rank++] = x.strides[1];
  const int32_t before = (attributes.size - 1) / 2;
  return LaunchRows(
      call, nest, {RowOperand{}, RowOperand{0}}, Int2{{before, attributes.size - 1 - before}},
      attributes.alpha / static_cast<float>(attributes.size), attributes.beta, attributes.bias);
}

}  // namespace tenon::opencl

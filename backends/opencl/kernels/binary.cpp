#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {

ProgramChoice BinaryChoice(const KernelSetup& setup) { return BinaryProgram(setup.op); }

Status BinaryRun(const KernelCall& call) {
  const Activation& activation = call.op.AttributesAs<BinaryAttributes>().activation;
  const TensorView& x = call.op.Input(BinaryInput::kX);
  const TensorView& y = call.op.Input(BinaryInput::kY);
  const TensorView& z = call.op.Output();
  if (z.Elements() == 0) return OkStatus();
  LoopNest<3> nest;
  for (int k = 0; k < z.rank; ++k) {
    nest.Add(z.dims[k], z.strides[k], BroadcastStride(x, z.rank, k), BroadcastStride(y, z.rank, k));
  }
  nest.Simplify();
  nest.LengthenRows();
  return LaunchRows(call, nest, {RowOperand{}, RowOperand{0}, RowOperand{1}}, activation.a,
                    activation.b);
}

}  // namespace tenon::opencl

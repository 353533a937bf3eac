#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {

ProgramChoice SelectChoice(const KernelSetup& setup) {
  return {"select.cl", WordOption(setup.op.Output()), "select_rows"};
}

Status SelectRun(const KernelCall& call) {
  const TensorView& z = call.op.Output();
  if (z.Elements() == 0) return OkStatus();
  LoopNest<4> nest;
  for (int k = 0; k < z.rank; ++k) {
    nest.Add(z.dims[k], z.strides[k],
             BroadcastStride(call.op.Input(SelectInput::kCondition), z.rank, k),
             BroadcastStride(call.op.Input(SelectInput::kX), z.rank, k),
             BroadcastStride(call.op.Input(SelectInput::kY), z.rank, k));
  }
  nest.Simplify();
  nest.LengthenRows();
  return LaunchRows(call, nest, {RowOperand{}, RowOperand{0}, RowOperand{1}, RowOperand{2}});
}

}  // namespace tenon::opencl

#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {

ProgramChoice UnaryChoice(const KernelSetup& setup) { return UnaryProgram(setup.op); }

Status UnaryRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<UnaryAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  LoopNest<2> nest;
  for (int k = 0; k < y.rank; ++k) nest.Add(y.dims[k], y.strides[k], x.strides[k]);
  nest.Simplify();
  return LaunchRows(call, nest, {RowOperand{}, RowOperand{0}}, attributes.a, attributes.b);
}

}  // namespace tenon::opencl

#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {

ProgramChoice QuantizedBinaryChoice(const KernelSetup& setup) {
  const auto& attributes = setup.op.AttributesAs<QuantizedBinaryAttributes>();
  return {"quantized_binary.cl",
          "-DQUANTIZED -DFUNCTION=" + std::to_string(static_cast<int>(attributes.function)) +
              " -DROUNDING=" + std::to_string(static_cast<int>(attributes.output.rounding)),
          "quantized_binary"};
}

Status QuantizedBinaryRun(const KernelCall& call) {
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
  return LaunchRows(
      call, nest, {RowOperand{}, RowOperand{BinaryInput::kX}, RowOperand{BinaryInput::kY}},
      SignFlip(x.dtype), SignFlip(y.dtype), call.op.AttributesAs<QuantizedBinaryAttributes>());
}

}  // namespace tenon::opencl

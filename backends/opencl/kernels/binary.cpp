#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

using In = BinaryInput;

/// What a power of this constant exponent is called in binary.cl; null: compute it as a power.
const char* PowerName(float exponent) {
  if (exponent == 2.0F) return "2";
  if (exponent == 3.0F) return "3";
  if (exponent == 4.0F) return "4";
  if (exponent == 0.5F) return "H";
  if (exponent == -1.0F) return "R";
  return nullptr;
}

}  // namespace

ProgramChoice BinaryChoice(const KernelSetup& setup) {
  const auto& attributes = setup.op.AttributesAs<BinaryAttributes>();
  std::string options = "-DFUNCTION=" + std::to_string(static_cast<int>(attributes.function));
  if (GivesBool(attributes.function)) return {"binary.cl", options + " -DZ=uchar", "binary"};
  options += " -DACTIVATION=" + std::to_string(static_cast<int>(attributes.activation.function));
  const TensorView& y = setup.op.Input(In::kY);
  if (attributes.function == BinaryFunction::kPow && y.data != nullptr && y.Elements() == 1) {
    const char* name = PowerName(*y.As<const float>());
    if (name != nullptr) options += std::string(" -DPOWER=") + name;
  }
  return {"binary.cl", options, "binary"};
}

Status BinaryRun(const KernelCall& call) {
  const Activation& activation = call.op.AttributesAs<BinaryAttributes>().activation;
  const TensorView& x = call.op.Input(In::kX);
  const TensorView& y = call.op.Input(In::kY);
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

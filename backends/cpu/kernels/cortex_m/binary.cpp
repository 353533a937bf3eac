// Sums and differences of quantized tensors that lie alike.
#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/kernels/cortex_m/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/operands.hpp"

namespace tenon::cpu::cortex_m {

Status BinaryCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = BinarySupports(op)) return Status(StatusCode::kUnsupported, reason);
  return CheckAlike(op, 2);
}

void RunBinary(const KernelCall& call, const BinaryRoutines& routines) {
  const OpCall& op = call.op;
  routines.add(op.AttributesAs<QuantizedBinaryAttributes>(),
               op.Input(BinaryInput::kX).As<const int8_t>(),
               op.Input(BinaryInput::kY).As<const int8_t>(), op.Output().As<int8_t>(),
               static_cast<ptrdiff_t>(op.Output().Elements()));
}

}  // namespace tenon::cpu::cortex_m

// These kernels add and subtract quantized tensors of equal layout, and map bytes through a table.
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

Status LookupCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = LookupSupports(op)) return Status(StatusCode::kUnsupported, reason);
  TENON_RETURN_IF_ERROR(CheckAlike(op, 1));
  TENON_ENSURE(HasStride(op.Input(LookupInput::kTable), 0, 1), kUnsupported,
               "the Cortex-M lookup takes a table without gaps");
  return OkStatus();
}

void RunLookup(const KernelCall& call, const LookupRoutines& routines) {
  const OpCall& op = call.op;
  const TensorView& x = op.Input(LookupInput::kX);
  // Entry 0 is of the smallest value.
  const uint8_t flip = x.dtype == DType::kI8 ? 0x80 : 0;
  routines.map(op.Input(LookupInput::kTable).As<const uint8_t>(), flip, x.As<const uint8_t>(),
               op.Output().As<uint8_t>(), static_cast<ptrdiff_t>(x.Elements()));
}

}  // namespace tenon::cpu::cortex_m

#include "backends/cpu/kernels/cortex_m/simd/dsp/operands.hpp"

#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {

Status CheckOperands(const OpCall& op, size_t workspace_bytes, size_t needed_bytes) {
  TENON_ENSURE(workspace_bytes >= needed_bytes, kUnsupported,
               "the kernel needs {0} bytes of workspace", static_cast<int64_t>(needed_bytes));
  for (int i = 2; i < op.InputCount(); ++i) {
    TENON_ENSURE(!op.HasInput(i) || op.Input(i).IsRowMajor(), kUnsupported,
                 "the DSP kernels take factors and zero points without gaps");
  }
  return OkStatus();
}

uint8_t ZeroPointOfX(const OpCall& op) {
  return op.HasInput(QuantizedProductInput::kXZeroPoint)
             ? *op.Input(QuantizedProductInput::kXZeroPoint).As<const uint8_t>()
             : uint8_t{0};
}

Widening WideningOfX(const OpCall& op, bool doubled) {
  return WideningOf(op.Input(QuantizedProductInput::kX).dtype == DType::kI8, ZeroPointOfX(op),
                    doubled);
}

}  // namespace tenon::cpu::dsp

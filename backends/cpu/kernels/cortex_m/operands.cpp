#include "backends/cpu/kernels/cortex_m/operands.hpp"

#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::cortex_m {

bool IsEmpty(const TensorView& view) {
  for (int i = 0; i < view.rank; ++i) {
    if (view.dims[i] == 0) return true;
  }
  return false;
}

Status CheckOperands(const OpCall& op, size_t workspace_bytes, size_t needed_bytes) {
  TENON_ENSURE(workspace_bytes >= needed_bytes, kUnsupported,
               "{0} bytes of workspace, {1} are needed", static_cast<int64_t>(workspace_bytes),
               static_cast<int64_t>(needed_bytes));
  for (int i = GemmInput::kBias; i < op.InputCount(); ++i) {
    TENON_ENSURE(!op.HasInput(i) || op.Input(i).IsRowMajor(), kUnsupported,
                 "the Cortex-M kernels take vectors of channels without gaps");
  }
  return OkStatus();
}

Status CheckMatrices(const OpCall& op) {
  const TensorView& b = op.Input(QuantizedGemmInput::kWeights);
  const bool transposed = op.AttributesAs<MatMulAttributes>().transpose_b != 0;
  const int inner = b.rank - (transposed ? 1 : 2);
  const int outer = b.rank - (transposed ? 2 : 1);
  TENON_ENSURE(op.Input(QuantizedGemmInput::kX).IsRowMajor() && op.Output().IsRowMajor(),
               kUnsupported, "the Cortex-M product takes matrices without gaps");
  TENON_ENSURE(HasStride(b, inner, 1) && HasStride(b, outer, b.dims[inner]), kUnsupported,
               "the Cortex-M product takes weights whose columns are contiguous");
  return OkStatus();
}

Status CheckAlike(const OpCall& op, int inputs) {
  bool row_major = op.Output().IsRowMajor();
  bool channels_last = op.Output().IsChannelsLast();
  for (int i = 0; i < inputs; ++i) {
    row_major = row_major && op.Input(i).IsRowMajor();
    channels_last = channels_last && op.Input(i).IsChannelsLast();
  }
  TENON_ENSURE(row_major || channels_last, kUnsupported,
               "the Cortex-M kernels take elements of tensors that lie alike, without gaps");
  return OkStatus();
}

int32_t ZeroPointOf(const OpCall& op) {
  return op.HasInput(QuantizedGemmInput::kXZeroPoint)
             ? *op.Input(QuantizedGemmInput::kXZeroPoint).As<const int8_t>()
             : 0;
}

}  // namespace tenon::cpu::cortex_m

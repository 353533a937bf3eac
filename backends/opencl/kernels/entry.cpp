#include "backends/opencl/kernels/entry.hpp"

namespace tenon::opencl {
namespace {

bool LiesAs(const TensorView& view, LayoutNeed need) {
  switch (need) {
    case LayoutNeed::kAny:
      return true;
    case LayoutNeed::kRowMajor:
      return view.IsRowMajor();
    case LayoutNeed::kDense:
      return view.IsRowMajor() || view.IsChannelsLast();
    case LayoutNeed::kChannelsLast:
      return view.IsChannelsLast();
    case LayoutNeed::kChannelsLastStrided:
    case LayoutNeed::kChannelsLastRows:
      return view.rank == 4 && (view.dims[1] == 1 || view.strides[1] == 1);
  }
  return false;
}

/// Offsets inside an operand are 32-bit numbers in the kernels.
bool IsNear(const TensorView& view) {
  return SpanBytes(view) / static_cast<size_t>(DTypeBytes(view.dtype)) <= INT32_MAX;
}

}  // namespace

Status CheckOperands(const KernelSetup& setup, const char* reason, LayoutNeed need) {
  if (reason != nullptr) return Status(StatusCode::kUnsupported, reason);
  const OpCall& op = setup.op;
  for (int i = 0; i < op.InputCount(); ++i) {
    if (!op.HasInput(i)) continue;
    TENON_ENSURE(IsNear(op.Input(i)), kUnsupported, "input {0} spans more than 2^31 elements", i);
    // Constants are uploaded as they lie, for kernels that take any strides.
    if (op.Input(i).data == nullptr) {
      TENON_ENSURE(LiesAs(op.Input(i), need), kUnsupported,
                   "input {0} does not lie as the OpenCL kernel wants it", i);
    }
  }
  TENON_ENSURE(IsNear(op.Output()), kUnsupported, "the output spans more than 2^31 elements");
  TENON_ENSURE(LiesAs(op.Output(), need), kUnsupported,
               "the output does not lie as the OpenCL kernel wants it");
  return OkStatus();
}

}  // namespace tenon::opencl

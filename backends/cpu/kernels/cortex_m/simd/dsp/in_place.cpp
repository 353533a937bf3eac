// These convolutions write over their input (caps/in_place_caps.hpp). Most run unchanged, because
// the workspace contains, widened, what is still needed of the input. The others run part by part.
#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/caps/in_place_caps.hpp"
#include "backends/cpu/kernels/cortex_m/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/inputs.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"

namespace tenon::cpu::dsp {
namespace {

Status CheckInPlace(const KernelSetup& setup, size_t needed_bytes) {
  if (const Reason reason = InPlaceConvSupports(setup.op)) {
    return Status(StatusCode::kUnsupported, reason);
  }
  TENON_ENSURE(setup.workspace_bytes >= needed_bytes, kCorruptPlan,
               "to work in place it needs {0} bytes of workspace, the plan gives {1}",
               static_cast<int64_t>(needed_bytes), static_cast<int64_t>(setup.workspace_bytes));
  return OkStatus();
}

}  // namespace

Status DepthwiseInPlaceCheck(const KernelSetup& setup) {
  // Sizes are of what is supported only.
  if (const Reason reason = DepthwiseSupports(setup.op)) {
    return Status(StatusCode::kUnsupported, reason);
  }
  if (!HasDepthwisePlanes(setup.op)) {
    return cortex_m::CheckInPlace(setup, DepthwiseWindowsCheck, DepthwiseWorkspaceBytes);
  }
  TENON_RETURN_IF_ERROR(CheckInPlace(setup, DepthwiseInPlaceLeastBytes(setup.op)));
  return DepthwiseCheck(setup);
}

Status DepthwiseInPlaceRun(const KernelCall& call) {
  return HasDepthwisePlanes(call.op)
             ? DepthwiseRun(call)
             : cortex_m::RunInPlace(call, InPlaceNewRows(call.op), DepthwiseWindowsRun);
}

Status ConvInPlaceCheck(const KernelSetup& setup) {
  if (const Reason reason = ConvSupports(setup.op)) return Status(StatusCode::kUnsupported, reason);
  TENON_RETURN_IF_ERROR(CheckInPlace(setup, ConvInPlaceLeastBytes(setup.op)));
  if (KeepsInputs(setup.op, setup.workspace_bytes)) return ConvCheck(setup);
  return cortex_m::CheckInPlace(
      setup, ConvCheck, [](const OpCall& part, int) { return ConvLeastWorkspaceBytes(part); });
}

Status ConvInPlaceRun(const KernelCall& call) {
  return KeepsInputs(call.op, call.workspace_bytes)
             ? RunConv(call, CopyPixels)
             : cortex_m::RunInPlace(call, InPlaceNewRows(call.op), ConvRun);
}

Status WinogradInPlaceCheck(const KernelSetup& setup) {
  if (const Reason reason = WinogradInPlaceSupports(setup.op)) {
    return Status(StatusCode::kUnsupported, reason);
  }
  return ConvInPlaceCheck(setup);
}

Status WinogradInPlaceRun(const KernelCall& call) {
  return WinogradFitsInPlace(call.op, call.workspace_bytes)
             ? cortex_m::RunInPlace(call, kWinogradRows, WinogradRun)
             : ConvInPlaceRun(call);
}

}  // namespace tenon::cpu::dsp

// Every portable kernel's functions, so that firmware tables can name them one by one.
//
// All take any strides, use no heap and (but for those in place) no workspace, and give the same
// bits whatever the number of threads. `<Op>Check` refuses exactly what `<Op>Supports`
// (caps/portable_supports.hpp) refuses.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu::portable {

/// A check's answer for the reason that a `Supports` predicate gave, null meaning none.
[[nodiscard]] inline Status CheckResult(Reason reason) {
  return reason ? Status(StatusCode::kUnsupported, reason) : OkStatus();
}

Status ConvCheck(const KernelSetup& setup);
Status ConvRun(const KernelCall& call);
/// Over its input, by way of a workspace: see caps/in_place_caps.hpp.
Status ConvInPlaceCheck(const KernelSetup& setup);
Status ConvInPlaceRun(const KernelCall& call);

Status MatMulCheck(const KernelSetup& setup);
Status MatMulRun(const KernelCall& call);

Status MaxPoolCheck(const KernelSetup& setup);
Status MaxPoolRun(const KernelCall& call);

Status AveragePoolCheck(const KernelSetup& setup);
Status AveragePoolRun(const KernelCall& call);

Status UnaryCheck(const KernelSetup& setup);
Status UnaryRun(const KernelCall& call);

Status BinaryCheck(const KernelSetup& setup);
Status BinaryRun(const KernelCall& call);

Status SelectCheck(const KernelSetup& setup);
Status SelectRun(const KernelCall& call);

Status ReduceCheck(const KernelSetup& setup);
Status ReduceRun(const KernelCall& call);

Status SoftmaxCheck(const KernelSetup& setup);
Status SoftmaxRun(const KernelCall& call);

Status LrnCheck(const KernelSetup& setup);
Status LrnRun(const KernelCall& call);

Status ConcatCheck(const KernelSetup& setup);
Status ConcatRun(const KernelCall& call);

Status SliceCheck(const KernelSetup& setup);
Status SliceRun(const KernelCall& call);

Status PadCheck(const KernelSetup& setup);
Status PadRun(const KernelCall& call);

Status ReshapeCheck(const KernelSetup& setup);
Status ReshapeRun(const KernelCall& call);

Status TransposeCheck(const KernelSetup& setup);
Status TransposeRun(const KernelCall& call);

Status ExpandCheck(const KernelSetup& setup);
Status ExpandRun(const KernelCall& call);

Status ResizeCheck(const KernelSetup& setup);
Status ResizeRun(const KernelCall& call);

Status GatherCheck(const KernelSetup& setup);
Status GatherRun(const KernelCall& call);

Status CastCheck(const KernelSetup& setup);
Status CastRun(const KernelCall& call);

Status CopyCheck(const KernelSetup& setup);
Status CopyRun(const KernelCall& call);

Status QuantizeCheck(const KernelSetup& setup);
Status QuantizeRun(const KernelCall& call);

Status DequantizeCheck(const KernelSetup& setup);
Status DequantizeRun(const KernelCall& call);

Status LookupCheck(const KernelSetup& setup);
Status LookupRun(const KernelCall& call);

Status QuantizedConvCheck(const KernelSetup& setup);
Status QuantizedConvRun(const KernelCall& call);
/// Over its input, by way of a workspace: see caps/in_place_caps.hpp.
Status QuantizedConvInPlaceCheck(const KernelSetup& setup);
Status QuantizedConvInPlaceRun(const KernelCall& call);

Status QuantizedMatMulCheck(const KernelSetup& setup);
Status QuantizedMatMulRun(const KernelCall& call);

Status QuantizedBinaryCheck(const KernelSetup& setup);
Status QuantizedBinaryRun(const KernelCall& call);

Status QuantizedAveragePoolCheck(const KernelSetup& setup);
Status QuantizedAveragePoolRun(const KernelCall& call);

Status QuantizedReduceCheck(const KernelSetup& setup);
Status QuantizedReduceRun(const KernelCall& call);

Status QuantizedSoftmaxCheck(const KernelSetup& setup);
Status QuantizedSoftmaxRun(const KernelCall& call);

}  // namespace tenon::cpu::portable

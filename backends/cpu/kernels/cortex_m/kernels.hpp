// The Cortex-M kernels: what is the same for every instruction set. None uses the heap or loads
// anything; all give the portable kernels' bits.
#pragma once

#include "backends/cpu/kernels/cortex_m/routines.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu::cortex_m {

Status ConvCheck(const KernelSetup& setup);
void RunConv(const KernelCall& call, const GemmRoutines& routines);
Status ConvInPlaceCheck(const KernelSetup& setup);
void RunConvInPlace(const KernelCall& call, const GemmRoutines& routines);

Status DepthwiseCheck(const KernelSetup& setup);
void RunDepthwise(const KernelCall& call, const DepthwiseRoutines& routines);
Status DepthwiseInPlaceCheck(const KernelSetup& setup);
void RunDepthwiseInPlace(const KernelCall& call, const DepthwiseRoutines& routines);

Status MatMulCheck(const KernelSetup& setup);
void RunMatMul(const KernelCall& call, const GemmRoutines& routines);

Status BinaryCheck(const KernelSetup& setup);
void RunBinary(const KernelCall& call, const BinaryRoutines& routines);

Status LookupCheck(const KernelSetup& setup);
void RunLookup(const KernelCall& call, const LookupRoutines& routines);

Status AveragePoolCheck(const KernelSetup& setup);
Status MaxPoolCheck(const KernelSetup& setup);
void RunAveragePool(const KernelCall& call, const PoolRoutines& routines);
void RunMaxPool(const KernelCall& call, const PoolRoutines& routines);

/// A kernel's run: `walk` over its operands with `routines`.
template <auto walk, auto routines>
Status RunWith(const KernelCall& call) {
  walk(call, routines());
  return OkStatus();
}

/// The check of a convolution of this frame over its input (in_place.hpp): `check` of itself, which
/// is given `own` bytes of workspace.
Status CheckOverInput(const KernelSetup& setup, Status (*check)(const KernelSetup& setup),
                      size_t (*own)(const OpCall& call, int threads));

/// Runs a convolution that knows only whole ones over its input: parts of some rows by `run`
/// (caps/in_place_caps.hpp).
Status RunInPlace(const KernelCall& call, Status (*run)(const KernelCall& part));
/// The check for that: `check` of a part, given what InPlacePartsWorkspace wants of workspace.
Status CheckInPlace(const KernelSetup& setup, Status (*check)(const KernelSetup& part),
                    size_t (*workspace)(const OpCall& call, int threads));

}  // namespace tenon::cpu::cortex_m

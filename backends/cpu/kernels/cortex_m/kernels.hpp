// Declares the Cortex-M kernels' parts that are the same for every instruction set. None uses the
// heap or loads anything; all give the portable kernels' bits.
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

/// Is the `run` of a kernel: it calls `walk` for the operands with `routines`.
template <auto walk, auto routines>
Status RunWith(const KernelCall& call) {
  walk(call, routines());
  return OkStatus();
}

/// Checks a convolution of this folder that overwrites its input (in_place.hpp): it calls the
/// convolution's own `check` with `own` bytes of workspace.
Status CheckOverInput(const KernelSetup& setup, Status (*check)(const KernelSetup& setup),
                      size_t (*own)(const OpCall& call, int threads));

/// Runs a convolution that can only compute whole outputs over its input: `run` computes parts of
/// `at_once` rows (caps/in_place_caps.hpp).
Status RunInPlace(const KernelCall& call, int32_t at_once, Status (*run)(const KernelCall& part));
/// Checks such an op: calls `check` for a part, with the workspace that InPlacePartsWorkspace asks
/// for.
Status CheckInPlace(const KernelSetup& setup, Status (*check)(const KernelSetup& part),
                    size_t (*workspace)(const OpCall& call, int threads));

}  // namespace tenon::cpu::cortex_m

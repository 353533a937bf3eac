// The Cortex-M kernels: what is the same for every instruction set. None uses the heap or loads
// anything; all give the portable kernels' bits.
#pragma once

#include "backends/cpu/kernels/cortex_m/routines.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu::cortex_m {

Status ConvCheck(const KernelSetup& setup);
void RunConv(const KernelCall& call, const ProductRoutines& routines);

Status DepthwiseCheck(const KernelSetup& setup);
void RunDepthwise(const KernelCall& call, const DepthwiseRoutines& routines);

Status MatMulCheck(const KernelSetup& setup);
void RunMatMul(const KernelCall& call, const ProductRoutines& routines);

}  // namespace tenon::cpu::cortex_m

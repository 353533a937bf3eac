// The kernels of Armv7E-M cores: checks and runs. None uses the heap or loads anything; all give
// the portable kernels' bits.
#pragma once

#include "backends/cpu/kernels/cortex_m/routines.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu::dsp {

struct Geometry;

Status ConvCheck(const KernelSetup& setup);
Status ConvRun(const KernelCall& call);
/// The same. `copy` (CopyPixels): where the output lies over the input; else null.
using CopyInputs = void(Geometry& geometry, uint8_t* to);
Status RunConv(const KernelCall& call, CopyInputs* copy);

Status DepthwiseCheck(const KernelSetup& setup);
Status DepthwiseRun(const KernelCall& call);

Status BinaryCheck(const KernelSetup& setup);
Status BinaryRun(const KernelCall& call);

Status MatMulCheck(const KernelSetup& setup);
Status MatMulRun(const KernelCall& call);

/// Over their input; a depthwise convolution runs as it is.
Status DepthwiseInPlaceCheck(const KernelSetup& setup);
Status ConvInPlaceCheck(const KernelSetup& setup);
Status ConvInPlaceRun(const KernelCall& call);

/// Sums and largest bytes of windows, for the walk of all sets.
[[nodiscard]] const cortex_m::PoolRoutines& Pool();

}  // namespace tenon::cpu::dsp

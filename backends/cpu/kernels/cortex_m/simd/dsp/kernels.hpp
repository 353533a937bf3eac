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

[[nodiscard]] const cortex_m::PoolRoutines& Pool();

/// Runs a depthwise convolution that DepthwiseCheck takes, with outputs, if it is one for this way:
/// of 3x3 windows with steps of 1, of i8 with weights around 0, of as many channels as words have
/// bytes, or a multiple, with room for four widened rows of x. Else false, and nothing is done. A
/// row of y is written when all rows of x that are still needed have been read.
[[nodiscard]] bool RunsDepthwisePairs(const KernelCall& call);

}  // namespace tenon::cpu::dsp

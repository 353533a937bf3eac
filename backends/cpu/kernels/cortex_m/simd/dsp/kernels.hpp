// Declares the kernels of Armv7E-M cores: checks and runs. None uses the heap or loads anything;
// all give the portable kernels' bits.
#pragma once

#include "backends/cpu/kernels/cortex_m/routines.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu::dsp {

struct Geometry;

Status ConvCheck(const KernelSetup& setup);
Status ConvRun(const KernelCall& call);
/// Runs it likewise. `copy` (CopyPixels) is for an output that overwrites the input; else null.
using CopyInputs = void(Geometry& geometry, uint8_t* to);
Status RunConv(const KernelCall& call, CopyInputs* copy);

Status FirstCheck(const KernelSetup& setup);
Status FirstRun(const KernelCall& call);
Status FivesCheck(const KernelSetup& setup);
Status FivesRun(const KernelCall& call);
Status WinogradCheck(const KernelSetup& setup);
Status WinogradRun(const KernelCall& call);

Status DepthwiseCheck(const KernelSetup& setup);
Status DepthwiseRun(const KernelCall& call);
Status DepthwiseWindowsCheck(const KernelSetup& setup);
Status DepthwiseWindowsRun(const KernelCall& call);

Status DepthwiseRowCheck(const KernelSetup& setup);
Status DepthwiseRowRun(const KernelCall& call);

Status BinaryCheck(const KernelSetup& setup);
Status BinaryRun(const KernelCall& call);

Status MatMulCheck(const KernelSetup& setup);
Status MatMulRun(const KernelCall& call);

/// These are for ops that overwrite their input.
Status DepthwiseInPlaceCheck(const KernelSetup& setup);
Status DepthwiseInPlaceRun(const KernelCall& call);
Status ConvInPlaceCheck(const KernelSetup& setup);
Status ConvInPlaceRun(const KernelCall& call);
Status WinogradInPlaceCheck(const KernelSetup& setup);
Status WinogradInPlaceRun(const KernelCall& call);

[[nodiscard]] const cortex_m::PoolRoutines& Pool();

/// Runs a depthwise convolution that DepthwiseCheck takes and that has outputs, if this way suits
/// it. Its windows must be 3x3 with steps of 1, x must be i8, the weights' zero points 0, the
/// number of channels a multiple of a word's bytes, and four widened rows of x must fit into the
/// workspace. Else it does nothing and returns false. A row of y is written when all rows of x that
/// are still needed have been read.
[[nodiscard]] bool RunsDepthwisePairs(const KernelCall& call);

}  // namespace tenon::cpu::dsp

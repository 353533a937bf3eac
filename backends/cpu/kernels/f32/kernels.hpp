// Declares the functions of every vector kernel.
//
// Those with weights have the same life cycle: `load` packs the constant weights into one block for
// the instruction set that this processor has; `open` makes it the session's state; `run` computes
// the rest from the operands and allocates nothing. So ops with the same weights share one block,
// even if they differ otherwise. Results do not depend on the number of threads, but on the
// instruction set.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::cpu::f32 {

Status ConvCheck(const KernelSetup& setup);
Status ConvLoad(const KernelSetup& setup, void** shared);
Status ConvRun(const KernelCall& call);

/// These pack large weights though they could be read in place: see PackedForm::kPanels.
Status ConvPanelsCheck(const KernelSetup& setup);
Status ConvPanelsLoad(const KernelSetup& setup, void** shared);
Status MatMulPanelsCheck(const KernelSetup& setup);
Status MatMulPanelsLoad(const KernelSetup& setup, void** shared);

/// These take few input channels in any layout.
Status FirstConvCheck(const KernelSetup& setup);
Status FirstConvRun(const KernelCall& call);

/// These compute few outputs.
Status NarrowConvCheck(const KernelSetup& setup);
Status NarrowConvLoad(const KernelSetup& setup, void** shared);
Status NarrowConvRun(const KernelCall& call);
size_t NarrowConvBytes(const void* shared, const void* state);

/// These compute few outputs of each group, of operands in any layout.
Status PixelConvCheck(const KernelSetup& setup);
Status PixelConvLoad(const KernelSetup& setup, void** shared);
Status PixelConvRun(const KernelCall& call);
size_t PixelConvBytes(const void* shared, const void* state);

Status DepthwiseCheck(const KernelSetup& setup);
Status DepthwiseLoad(const KernelSetup& setup, void** shared);
Status DepthwiseRun(const KernelCall& call);
size_t DepthwiseBytes(const void* shared, const void* state);

Status WinogradCheck(const KernelSetup& setup);
Status WinogradLoad(const KernelSetup& setup, void** shared);
Status WinogradRun(const KernelCall& call);

Status MatMulCheck(const KernelSetup& setup);
Status MatMulLoad(const KernelSetup& setup, void** shared);
Status MatMulRun(const KernelCall& call);

// These have no weights to pack: their state is the routines that were chosen.
/// These multiply matrices by one column each.
Status MatMulColumnCheck(const KernelSetup& setup);
Status MatMulColumnRun(const KernelCall& call);

/// These pack weights that are computed when the plan runs, in their workspace.
Status ComputedMatMulCheck(const KernelSetup& setup);
Status ComputedMatMulRun(const KernelCall& call);
Status ComputedConvCheck(const KernelSetup& setup);
Status ComputedConvRun(const KernelCall& call);

Status MaxPoolCheck(const KernelSetup& setup);
Status MaxPoolRun(const KernelCall& call);
Status AveragePoolCheck(const KernelSetup& setup);
Status AveragePoolRun(const KernelCall& call);

/// These compute softmax of row-major tensors.
Status SoftmaxCheck(const KernelSetup& setup);
/// These compute softmax along the channels of channels-last tensors.
Status ChannelSoftmaxCheck(const KernelSetup& setup);
Status SoftmaxRun(const KernelCall& call);

/// These normalise rows of row-major tensors.
Status LayerNormCheck(const KernelSetup& setup);
Status LayerNormRun(const KernelCall& call);

/// These attend with operands of any strides.
Status AttentionCheck(const KernelSetup& setup);
Status AttentionRun(const KernelCall& call);

/// These compute functions of one element on operands that are equally dense.
Status UnaryCheck(const KernelSetup& setup);
Status UnaryRun(const KernelCall& call);

/// Computes several such functions, and functions of two elements, on operands of any strides.
Status ElementwiseRun(const KernelCall& call);
Status BinaryRun(const KernelCall& call);

/// Samples images of any strides linearly.
Status GridSampleCheck(const KernelSetup& setup);
Status GridSampleRun(const KernelCall& call);

Status LrnCheck(const KernelSetup& setup);
Status LrnRun(const KernelCall& call);

// The kernels share what follows.
Status Open(const KernelSetup& setup, void* shared, void** state);
Status OpenRoutines(const KernelSetup& setup, void* shared, void** state);
void Unload(void* shared);

/// Returns the geometry with the strides of the residual.
[[nodiscard]] ConvGeometry GeometryOf(const OpCall& conv);
/// Checks that weights and bias are constant and dense.
Status CheckConvConstants(const OpCall& op);
/// Returns true for dense weights with output channels innermost, then input channels, then taps.
[[nodiscard]] bool HasOutputsLast(const TensorView& w);
/// Checks that the channels of every activation are contiguous.
Status CheckDenseChannels(const OpCall& op);

}  // namespace tenon::cpu::f32

// The host's part of every kernel but convolutions and matrix products: what to load, and one
// execution. All take any strides unless said otherwise, and need no workspace.
#pragma once

#include <string>

#include "backends/opencl/kernels/kernel_support.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::opencl {

ProgramChoice UnaryChoice(const KernelSetup& setup);
Status UnaryRun(const KernelCall& call);

ProgramChoice BinaryChoice(const KernelSetup& setup);
Status BinaryRun(const KernelCall& call);

ProgramChoice SelectChoice(const KernelSetup& setup);
Status SelectRun(const KernelCall& call);

/// "-DWORD=uint": the unsigned type of a view's elements' size.
[[nodiscard]] std::string WordOption(const TensorView& view);
/// Of copy, concat, slice, transpose and expand.
ProgramChoice MoveChoice(const KernelSetup& setup);
Status CopyRun(const KernelCall& call);
Status ConcatRun(const KernelCall& call);
Status SliceRun(const KernelCall& call);
Status TransposeRun(const KernelCall& call);
Status ExpandRun(const KernelCall& call);

ProgramChoice ReshapeChoice(const KernelSetup& setup);
Status ReshapeRun(const KernelCall& call);

/// Windows of an image tensor; with channels that are neighbours, in vectors of them.
ProgramChoice MaxPoolChoice(const KernelSetup& setup);
ProgramChoice AveragePoolChoice(const KernelSetup& setup);
Status PoolRun(const KernelCall& call);

ProgramChoice ReduceChoice(const KernelSetup& setup);
Status ReduceRun(const KernelCall& call);

ProgramChoice SoftmaxChoice(const KernelSetup& setup);
Status SoftmaxRun(const KernelCall& call);

ProgramChoice LrnChoice(const KernelSetup& setup);
Status LrnRun(const KernelCall& call);

ProgramChoice PadChoice(const KernelSetup& setup);
Status PadRun(const KernelCall& call);

/// Makes tables of positions and weights: in the host's arithmetic, so that every backend takes the
/// same neighbours.
Status ResizeLoad(const KernelSetup& setup, void** shared);
Status ResizeRun(const KernelCall& call);

/// Makes a table of offsets from the constant indices. Errors: kInvalidArgument for an index out of
/// range.
Status GatherLoad(const KernelSetup& setup, void** shared);
Status GatherRun(const KernelCall& call);

ProgramChoice CastChoice(const KernelSetup& setup);
Status CastRun(const KernelCall& call);

}  // namespace tenon::opencl

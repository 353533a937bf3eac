// The host code of every kernel but convolutions and matrix products: what to load, and one
// execution. All take any strides unless said otherwise, and need no workspace.
#pragma once

#include <string>

#include "backends/opencl/kernels/kernel_support.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::opencl {

/// These belong to kernels of one op each. Kernels of several ops, or with their own life cycle,
/// follow.
#define TENON_OP(Op, name, number)                    \
  ProgramChoice Op##Choice(const KernelSetup& setup); \
  Status Op##Run(const KernelCall& call);
#include "runtime/ops/ops.inc"

/// Serves copy, concat, slice, transpose and expand.
ProgramChoice MoveChoice(const KernelSetup& setup);

/// Pools windows of an image tensor; where channels are contiguous, it computes vectors of them.
Status PoolRun(const KernelCall& call);

/// Makes tables of positions and weights in the host's arithmetic, so that every backend takes the
/// same neighbours.
Status ResizeLoad(const KernelSetup& setup, void** shared);

/// Makes a table of offsets from the constant indices. Errors: kInvalidArgument for an index out of
/// range.
Status GatherLoad(const KernelSetup& setup, void** shared);

/// Makes tables of the updates of each row from the constant indices. Errors: as GatherLoad.
Status ScatterLoad(const KernelSetup& setup, void** shared);

}  // namespace tenon::opencl

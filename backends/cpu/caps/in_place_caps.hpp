// Convolutions that write their output over their input: of equal size, with steps of 1.
//
// A row of the output may take the place of the input's row r once every row of the output that
// reads row r has been computed: those up to r + pads[0]. So pads[0] rows of the output are held
// back in the workspace, behind which lie the rows being computed:
//   [held back: pads[0]] [new: 1 or more], each row channels-last without gaps.
// Any kernel that computes rows of a convolution can be run so; the more new rows the workspace has
// room for, the fewer times it starts.
//
// Kernels of this kind have an id of their own, `<kernel>_in_place`, and `in_place_inputs`: they
// are chosen only where their output does take over their input.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "runtime/base/span.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu {

/// The portable kernels that work in place.
[[nodiscard]] Span<const KernelCaps> InPlaceCaps();

/// Null if a convolution, float or quantized, can be computed over input 0 row by row; else why
/// not. Reads dims, dtypes and attributes of operands that passed CheckOpCall.
[[nodiscard]] Reason InPlaceConvSupports(const OpCall& call);

/// Rows of one image's output that are held back: never more than it has.
[[nodiscard]] int32_t InPlaceHeldRows(const OpCall& call);
/// Bytes of one row of one image's output, without gaps.
[[nodiscard]] size_t InPlaceRowBytes(const OpCall& call);

/// The least workspace: the rows held back and one new one. (Threads share it.)
[[nodiscard]] size_t InPlaceConvWorkspace(const OpCall& call, int threads);

}  // namespace tenon::cpu

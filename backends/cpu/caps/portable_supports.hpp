// Which ops the portable kernels run: one predicate per op, asked by the converter (through
// portable.inc) and by the kernels' own checks, so that the two cannot disagree.
//
// Each returns null for yes, else the reason as a constant text. They read dims, dtypes and
// attributes of operands that passed CheckOpCall, never strides or data.
#pragma once

#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::portable {

[[nodiscard]] Reason ConvSupports(const OpCall& call);
[[nodiscard]] Reason MatMulSupports(const OpCall& call);
[[nodiscard]] Reason MaxPoolSupports(const OpCall& call);
[[nodiscard]] Reason AveragePoolSupports(const OpCall& call);
[[nodiscard]] Reason UnarySupports(const OpCall& call);
[[nodiscard]] Reason BinarySupports(const OpCall& call);
[[nodiscard]] Reason SelectSupports(const OpCall& call);
[[nodiscard]] Reason ReduceSupports(const OpCall& call);
[[nodiscard]] Reason SoftmaxSupports(const OpCall& call);
[[nodiscard]] Reason LrnSupports(const OpCall& call);
[[nodiscard]] Reason ConcatSupports(const OpCall& call);
[[nodiscard]] Reason SliceSupports(const OpCall& call);
[[nodiscard]] Reason PadSupports(const OpCall& call);
[[nodiscard]] Reason ReshapeSupports(const OpCall& call);
[[nodiscard]] Reason TransposeSupports(const OpCall& call);
[[nodiscard]] Reason ExpandSupports(const OpCall& call);
[[nodiscard]] Reason ResizeSupports(const OpCall& call);
[[nodiscard]] Reason GatherSupports(const OpCall& call);
[[nodiscard]] Reason CastSupports(const OpCall& call);
[[nodiscard]] Reason CopySupports(const OpCall& call);

/// Of every quantized op: what the shape rules let through runs.
[[nodiscard]] inline Reason QuantizedSupports(const OpCall&) { return nullptr; }

}  // namespace tenon::cpu::portable

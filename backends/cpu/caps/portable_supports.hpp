// Which ops the portable kernels run: one predicate per op, asked by the converter (through
// portable_caps.hpp) and by the kernels' own checks, so that the two cannot disagree.
//
// Each returns null for yes, else the reason as a constant text. They read dims, dtypes and
// attributes of operands that passed CheckOpCall, never strides or data.
#pragma once

#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::portable {

[[nodiscard]] const char* ConvSupports(const OpCall& call);
[[nodiscard]] const char* MatMulSupports(const OpCall& call);
[[nodiscard]] const char* MaxPoolSupports(const OpCall& call);
[[nodiscard]] const char* AveragePoolSupports(const OpCall& call);
[[nodiscard]] const char* UnarySupports(const OpCall& call);
[[nodiscard]] const char* BinarySupports(const OpCall& call);
[[nodiscard]] const char* SelectSupports(const OpCall& call);
[[nodiscard]] const char* ReduceSupports(const OpCall& call);
[[nodiscard]] const char* SoftmaxSupports(const OpCall& call);
[[nodiscard]] const char* LrnSupports(const OpCall& call);
[[nodiscard]] const char* ConcatSupports(const OpCall& call);
[[nodiscard]] const char* SliceSupports(const OpCall& call);
[[nodiscard]] const char* PadSupports(const OpCall& call);
[[nodiscard]] const char* ReshapeSupports(const OpCall& call);
[[nodiscard]] const char* TransposeSupports(const OpCall& call);
[[nodiscard]] const char* ExpandSupports(const OpCall& call);
[[nodiscard]] const char* ResizeSupports(const OpCall& call);
[[nodiscard]] const char* GatherSupports(const OpCall& call);
[[nodiscard]] const char* CastSupports(const OpCall& call);
[[nodiscard]] const char* CopySupports(const OpCall& call);

/// Of every quantized op: what the shape rules let through runs.
[[nodiscard]] inline const char* QuantizedSupports(const OpCall&) { return nullptr; }

}  // namespace tenon::cpu::portable

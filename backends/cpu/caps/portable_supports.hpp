// Which ops the portable kernels run: one predicate per op, asked by the converter (through
// portable.inc) and by the kernels' own checks, so that the two cannot disagree.
//
// Each returns null for yes, else the reason as a constant text. They read dims, dtypes and
// attributes of operands that passed CheckOpCall, never strides or data.
#pragma once

#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::portable {

#define TENON_OP(Op, name, number) [[nodiscard]] Reason Op##Supports(const OpCall& call);
#include "runtime/ops/ops.inc"

}  // namespace tenon::cpu::portable

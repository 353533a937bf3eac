// The ops that the portable kernels run: one predicate per op, which the converter (through
// portable.inc) and the kernels' own checks call, so that the two cannot disagree.
//
// Each returns null for yes, else the reason as a constant text. They read dims, dtypes and
// attributes of operands that passed CheckOpCall, never strides or data.
#pragma once

#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::portable {

#define TENON_OP(Op, name, number) [[nodiscard]] Reason Op##Supports(const OpCall& call);
#include "runtime/ops/ops.inc"

}  // namespace tenon::cpu::portable

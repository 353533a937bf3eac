// Predicts what one op takes, from its dims alone: for cost models, which ask about many ops.
#pragma once

#include <cstdint>

#include "backends/fpga/codegen/segment_code.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::fpga {

/// Cycles of the op in the middle of a segment, its maps on chip and its weights as far ahead as
/// the ring has room. Of an op that the accelerator has (backends/fpga/caps).
[[nodiscard]] int64_t PredictOpCycles(OpKind kind, const OpCall& call, const CodeTarget& target);

}  // namespace tenon::fpga

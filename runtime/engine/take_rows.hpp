// Inputs that have no memory: their rows are handed in where the plan copies them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/status.hpp"
#include "runtime/engine/run_options.hpp"
#include "runtime/format/plan_view.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon {

/// True if the op copies rows of an input that has no memory.
[[nodiscard]] inline bool TakesRows(const OpCall& call, OpKind kind) {
  return kind == OpKind::kCopy && call.Input(0).data == nullptr;
}

/// Asks for the rows that op `op` copies, in its stead. Errors: kFailedPrecondition (nobody hands
/// in rows), kIoError (they could not be had).
Status TakeRows(const ProgramView& program, size_t op, const OpCall& call, const RowSource* rows);

}  // namespace tenon

// The plan check: inputs that the caller may hand in by rows are read in the order in which rows
// come, each byte once, by ops that need nothing but these rows.
#include "runtime/format/plan_check_state.hpp"
#include "runtime/format/region.hpp"
#include "runtime/ops/op_kind.hpp"

namespace tenon::plan_check {
namespace {

/// True if copying is moving one run of bytes to another.
bool IsMove(const TensorInfo& from, const TensorInfo& to) {
  bool same = from.dims.size() == to.dims.size();
  for (size_t i = 0; same && i < from.dims.size(); ++i) {
    same = from.dims[i] <= 1 || from.strides[i] == to.strides[i];
  }
  return same && MakeRegion(from).levels == 1 && MakeRegion(to).levels == 1;
}

/// True if `op` reads the input of a storage as rows are handed in, from byte `next` on, which
/// becomes the byte behind them.
bool TakesRows(const CheckedProgram& check, const OpInfo& op, const StorageInfo& storage,
               PlanBytes* next) {
  if (op.kind != static_cast<uint16_t>(OpKind::kCopy) || op.inputs.size() != 1 ||
      op.outputs.size() != 1) {
    return false;
  }
  const TensorInfo from = check.program.tensor(static_cast<uint32_t>(op.inputs[0]));
  const TensorInfo to = check.program.tensor(static_cast<uint32_t>(op.outputs[0]));
  const bool follows = storage.offset == 0 && from.offset == *next;
  *next += MakeRegion(from).bytes;
  return follows && IsMove(from, to);
}

void CheckArena(CheckedProgram& check, size_t arena) {
  const ProgramView& program = check.program;
  // Nobody hands in rows while several threads, or several ops, are under way.
  bool sound = program.worker_count() == 1 && (!kHasWorkers || program.group_count() == 0);
  PlanBytes next = 0;
  for (size_t step = 0; sound && step < program.step_count(0) && check.Spend(); ++step) {
    const OpInfo op = program.op(program.step_op(0, step));
    for (const int32_t input : op.inputs) {
      const uint32_t storage = ArenaStorage(check, input);
      if (storage == kNoStorage || program.storage(storage).index != arena) continue;
      sound = sound && TakesRows(check, op, program.storage(storage), &next) &&
              !(kHasConditions && program.op_condition(program.step_op(0, step)).IsGiven());
    }
  }
  if (!sound) {
    check.Fail(program.name(), "rows in arena {0} are not read in order, each once, by copies",
               arena);
  }
}

}  // namespace

void CheckRows(CheckedProgram& check) {
  for (size_t i = 0; i < check.program.arena_count(); ++i) {
    if (check.program.arena_use(i) == ArenaUse::kRows) CheckArena(check, i);
  }
}

}  // namespace tenon::plan_check

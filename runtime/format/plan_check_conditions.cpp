// The plan check: what ops with conditions write is read only in runs in which they write it.
#include "runtime/format/plan_check_workers.hpp"
#include "runtime/ops/op_kind.hpp"

namespace tenon::plan_check {
namespace {

/// The operand that a select by a bool takes if it is `value`.
constexpr size_t ChosenBy(bool value) { return value ? 1 : 2; }

bool IsOneBool(const TensorInfo& tensor) {
  bool is_one = tensor.dtype == DType::kBool;
  for (const int32_t dim : tensor.dims) is_one &= dim == 1;
  return is_one;
}

bool IsTensor(int32_t operand, uint32_t tensor) { return operand == static_cast<int32_t>(tensor); }

/// True if the op is a select by `condition`, and reads `tensor` only where that lets ops run.
bool ChoosesBy(const OpInfo& op, OpCondition condition, uint32_t tensor) {
  bool chooses = op.kind == static_cast<uint16_t>(OpKind::kSelect) && op.inputs.size() == 3 &&
                 op.inputs[0] == condition.tensor;
  for (size_t i = 0; chooses && i < op.inputs.size(); ++i) {
    chooses = i == ChosenBy(condition.runs_if) || !IsTensor(op.inputs[i], tensor);
  }
  return chooses;
}

}  // namespace

void CheckConditions(const ProgramCheck& check) {
  for (size_t i = 0; i < check.ops; ++i) {
    const OpCondition condition = check.program.op_condition(i);
    if (condition.tensor == -1) continue;
    const char* name = check.program.op(i).name;
    if (ArenaStorage(check, condition.tensor) == kNoStorage) {
      check.Fail(name, "op {0}: condition out of range, or in no arena", i);
    } else if (!IsOneBool(check.program.tensor(static_cast<size_t>(condition.tensor)))) {
      check.Fail(name, "op {0}: its condition is not one bool", i);
    }
    // Devices are told what to do before it is known whether it has to be done.
    const uint32_t segment = check.segment[i];
    if (segment < check.segments && !check.IsOnCpu(check.program.segment(segment))) {
      check.Fail(name, "op {0} has a condition, but is not the CPU's", i);
    }
  }
}

void WritersConditions::Add(const ProgramCheck& check, Access writer) {
  if (OpOf(writer) == kPortOp) return;
  const OpCondition condition = check.program.op_condition(OpOf(writer));
  if (!condition.IsGiven()) return;
  differ_ |= condition_.IsGiven() && !(condition == condition_);
  condition_ = condition;
}

bool WritersConditions::MayRead(const ProgramCheck& check, Access reader) const {
  if (differ_ || OpOf(reader) == kPortOp) return false;
  const OpCondition own = check.program.op_condition(OpOf(reader));
  // The condition itself is read in every run.
  if (IsTensor(own.tensor, TensorOf(reader))) return false;
  return own == condition_ ||
         ChoosesBy(check.program.op(OpOf(reader)), condition_, TensorOf(reader));
}

void WritersConditions::CheckReader(const ProgramCheck& check, Access reader) const {
  if (!condition_.IsGiven() || MayRead(check, reader)) return;
  check.Fail(check.program.tensor(TensorOf(reader)).name,
             "tensor {0} is read in runs in which the condition of what writes it is not met",
             TensorOf(reader));
}

}  // namespace tenon::plan_check

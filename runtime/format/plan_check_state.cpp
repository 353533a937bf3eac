// Implements what the parts of the plan check share.
#include "runtime/format/plan_check_state.hpp"

namespace tenon::plan_check {
namespace {

[[gnu::noinline]] bool IsSame(Span<const int32_t> a, Span<const int32_t> b) {
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) same = a[i] == b[i];
  return same;
}

bool IsSameWindow(const TensorInfo& a, const TensorInfo& b) {
  return a.offset == b.offset && DTypeBytes(a.dtype) == DTypeBytes(b.dtype) &&
         IsSame(a.dims, b.dims) && IsSame(a.strides, b.strides);
}

}  // namespace

void CheckedProgram::FailAbout(const char* subject, Message message, size_t a, size_t b) const {
  reporter.Report(
      Status(StatusCode::kCorruptPlan, message, static_cast<int64_t>(a), static_cast<int64_t>(b))
          .About(subject));
}

void CheckedProgram::FailAt(Message message, size_t a) const {
  reporter.Report(Status(StatusCode::kCorruptPlan, message, static_cast<int64_t>(a)));
}

bool CheckedProgram::Spend() {
  if (budget == 0) return false;
  if (--budget == 0) Fail(program.name(), "too many strided parts or channels to check");
  return budget != 0;
}

uint32_t ArenaStorage(const CheckedProgram& check, int32_t tensor) {
  if (static_cast<uint32_t>(tensor) >= check.tensors) return kNoStorage;
  const uint32_t storage = check.program.tensor_storage(static_cast<uint32_t>(tensor));
  const bool is_there =
      storage < check.storages && check.program.storage(storage).home == StorageHome::kArena;
  return is_there ? storage : kNoStorage;
}

bool CountReferences(CheckedProgram& check) {
  const ProgramView& program = check.program;
  check.ops = program.op_count();
  check.storages = program.storage_count();
  check.tensors = program.tensor_count();
  const size_t ports =
      program.input_count() + program.output_count() + (kHasState ? 3 * program.state_count() : 0);
  // A vector is no longer than the file, whose size is a size_t: a few of them cannot wrap, and
  // the sum is looked at before the next few.
  const size_t limit = check.plan.file().size();
  size_t all = ports;
  size_t constants = 0;
  for (size_t i = 0; i < check.ops && all <= limit; ++i) {
    const OpInfo op = program.op(i);
    const size_t operands = op.inputs.size() + op.outputs.size() + (kHasDevices ? 2 : 1);
    all += operands + (kHasConditions && program.op_condition(i).IsGiven() ? 1 : 0);
    if (operands > check.most_operands) check.most_operands = operands;
    for (const int32_t input : op.inputs) {
      if (ArenaStorage(check, input) == kNoStorage) ++constants;
    }
  }
  check.references = all - constants;
  check.budget = (size_t{1} << 24) + 8 * check.references;
  return all <= limit;
}

bool IsWorkspace(const CheckedProgram& check, Access access) {
  return OpOf(access) != kPortOp &&
         check.program.op(OpOf(access)).workspace == static_cast<int32_t>(TensorOf(access));
}

Number InPlaceOp(const CheckedProgram& check, uint32_t before, uint32_t after, Access writer) {
  const ProgramView& program = check.program;
  const StorageInfo source = program.storage(before);
  const StorageInfo target = program.storage(after);
  const Number op = OpOf(writer);
  if (op == kPortOp || source.offset != target.offset || source.bytes != target.bytes) {
    return kPortOp;
  }
  const OpInfo info = program.op(op);
  const uint32_t written = TensorOf(writer);
  if (info.in_place < 0 || info.outputs[0] != static_cast<int32_t>(written)) return kPortOp;
  bool takes_over = false;
  for (const int32_t& input : info.inputs) {
    if (input < 0) continue;
    const TensorInfo tensor = program.tensor(static_cast<size_t>(input));
    if (tensor.storage != before) continue;
    if (!IsSameWindow(tensor, program.tensor(written))) return kPortOp;
    takes_over |= &input - info.inputs.data() == info.in_place;
  }
  return takes_over ? op : kPortOp;
}

}  // namespace tenon::plan_check

// What the parts of the plan check share.
#include "runtime/format/plan_check_state.hpp"

namespace tenon::plan_check {
namespace {

/// Calls `visit(tensor, op)` for every operand and port that is written, or every one that is read.
template <typename Visit>
void ForEachAccess(const CheckedProgram& check, bool writes, const Visit& visit) {
  const ProgramView& program = check.program;
  const size_t ports = writes ? program.input_count() : program.output_count();
  for (size_t i = 0; i < ports; ++i) {
    visit((writes ? program.input(i) : program.output(i)).tensor, kPortOp);
  }
  for (size_t i = 0; i < check.ops; ++i) {
    const OpInfo info = program.op(i);
    const auto op = static_cast<Number>(i);
    for (const int32_t tensor : writes ? info.outputs : info.inputs) {
      if (tensor >= 0) visit(static_cast<uint32_t>(tensor), op);
    }
    if (!writes) continue;
    if (info.workspace >= 0) visit(static_cast<uint32_t>(info.workspace), op);
    if (kHasDevices && info.fallback_workspace >= 0) {
      visit(static_cast<uint32_t>(info.fallback_workspace), op);
    }
  }
}

bool IsSameWindow(const TensorInfo& a, const TensorInfo& b) {
  bool same = a.offset == b.offset && DTypeBytes(a.dtype) == DTypeBytes(b.dtype) &&
              a.dims.size() == b.dims.size();
  for (size_t i = 0; same && i < a.dims.size(); ++i) {
    same = a.dims[i] == b.dims[i] && a.strides[i] == b.strides[i];
  }
  return same;
}

}  // namespace

void Reporter::Report(const Status& violation) {
  if (stopped_) return;
  if (count_++ == 0) first_ = violation;
  stopped_ = sink_.report == nullptr || !sink_.report(sink_.context, violation);
}

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

bool CountReferences(CheckedProgram& check) {
  const ProgramView& program = check.program;
  check.ops = program.op_count();
  check.storages = program.storage_count();
  check.tensors = program.tensor_count();
  check.references = program.input_count() + program.output_count();
  // A vector is no longer than the file, whose size is a size_t: a few of them cannot wrap, and
  // the sum is looked at before the next few.
  const size_t limit = check.plan.file().size();
  for (size_t i = 0; i < check.ops && check.references <= limit; ++i) {
    const OpInfo op = program.op(i);
    check.references += op.inputs.size() + op.outputs.size() + 2;
  }
  check.budget = (size_t{1} << 22) + 8 * check.references;
  return check.references <= limit;
}

/// Sorts accesses by storage, in two rounds over the operands: count, then fill.
void ListAccesses(CheckedProgram& check) {
  for (size_t s = 0; s <= check.storages; ++s) check.access_begin[s] = 0;
  // Writers are filled in last, and backwards: they stand first.
  for (int round = 0; round < 4; ++round) {
    const bool fills = round >= 2;
    const bool writes = round % 2 != 0;
    if (round == 2) {
      // From counts to ends; filling leaves begins.
      for (size_t s = 1; s <= check.storages; ++s) {
        check.access_begin[s] =
            static_cast<Number>(check.access_begin[s] + check.access_begin[s - 1]);
      }
    }
    if (round == 3) {
      for (size_t s = 0; s < check.storages; ++s) check.reader_begin[s] = check.access_begin[s];
    }
    ForEachAccess(check, writes, [&](uint32_t tensor, Number op) {
      const uint32_t s = check.program.tensor(tensor).storage;
      // Nothing writes constants, so there is nothing to order.
      if (check.program.storage(s).home != StorageHome::kArena) return;
      if (!fills) {
        ++check.access_begin[s];
      } else {
        check.accesses[--check.access_begin[s]] = MakeAccess(tensor, op);
      }
    });
  }
}

PlanBytes CommonBytes(CheckedProgram& check, const Region& a, const Region& b, int depth) {
  constexpr int kDeepest = kHasWorkers ? 2 * kMaxRank + 2 : 4;
  if (b.levels == 1 && b.offset <= a.offset && a.end <= b.end) return a.bytes;
  const PlanBytes known = OverlapBytes(a, b);
  if (known != kUnknownOverlap || (a.levels <= 1 && b.levels <= 1)) return known;
  if (depth == kDeepest) return kUnknownOverlap;
  if (a.levels <= 1) return CommonBytes(check, b, a, depth + 1);
  const int last = a.levels - 1;
  Region row = a;
  row.levels = last;
  row.bytes = a.bytes / a.count[last];
  row.end = a.end - (a.count[last] - 1) * a.pitch[last];
  PlanBytes bytes = 0;
  for (PlanBytes i = 0; i < a.count[last]; ++i) {
    const PlanBytes common =
        check.Spend() ? CommonBytes(check, row, b, depth + 1) : kUnknownOverlap;
    if (common == kUnknownOverlap) return common;
    bytes += common;
    row.offset += a.pitch[last];
    row.end += a.pitch[last];
  }
  return bytes;
}

bool SharesBytes(const CheckedProgram& check, uint32_t a, uint32_t b) {
  return OverlapBytes(MakeRegion(check.program.tensor(a)), MakeRegion(check.program.tensor(b))) !=
         0;
}

bool IsWorkspace(const CheckedProgram& check, Access access) {
  return OpOf(access) != kPortOp &&
         check.program.op(OpOf(access)).workspace == static_cast<int32_t>(TensorOf(access));
}

Number InPlaceOp(const CheckedProgram& check, uint32_t before, uint32_t after) {
  const ProgramView& program = check.program;
  const StorageInfo source = program.storage(before);
  const StorageInfo target = program.storage(after);
  const size_t writer = check.access_begin[after];
  if (check.reader_begin[after] - writer != 1 || source.offset != target.offset ||
      source.bytes != target.bytes) {
    return kPortOp;
  }
  const Number op = OpOf(check.accesses[writer]);
  if (op == kPortOp) return kPortOp;
  const OpInfo info = program.op(op);
  if (info.in_place < 0 ||
      info.outputs[0] != static_cast<int32_t>(TensorOf(check.accesses[writer]))) {
    return kPortOp;
  }
  const TensorInfo output = program.tensor(TensorOf(check.accesses[writer]));
  const auto taken = static_cast<size_t>(info.inputs[static_cast<size_t>(info.in_place)]);
  if (program.tensor(taken).storage != before) return kPortOp;
  for (const int32_t input : info.inputs) {
    if (input < 0) continue;
    const TensorInfo tensor = program.tensor(static_cast<size_t>(input));
    if (tensor.storage == before && !IsSameWindow(tensor, output)) return kPortOp;
  }
  return op;
}

}  // namespace tenon::plan_check

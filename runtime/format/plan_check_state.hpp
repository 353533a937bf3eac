// What the parts of the plan check share: the program, lists of who uses what, and the way to
// report. Internal to runtime/format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/base/config.hpp"
#include "runtime/format/plan_check.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::plan_check {

/// Keeps the first violation and hands all of them to the sink, until it wants no more. Counts what
/// nobody listens to as well: a part of the check that found something must not be taken for sound.
class Reporter {
 public:
  explicit Reporter(const ViolationSink& sink) : sink_(sink) {}

  void Report(const Status& violation) {
    if (count_++ == 0) first_ = violation;
    if (stopped_) return;
    stopped_ = sink_.report == nullptr || !sink_.report(sink_.context, violation);
  }
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] size_t count() const { return count_; }
  [[nodiscard]] const Status& first() const { return first_; }

 private:
  const ViolationSink& sink_;
  Status first_;
  size_t count_ = 0;
  bool stopped_ = false;
};

/// Numbers of ops, tensors, storages and uses. Firmware's plans have fewer than kPortOp of each.
using Number = std::conditional_t<kHasWorkers, uint32_t, uint16_t>;
inline constexpr int kNumberBits = 8 * sizeof(Number);

/// One use of a storage in an arena: tensor and op in one word, so that it can be a sort key. Uses
/// by the caller, before and after the run, have kPortOp.
using Access = std::conditional_t<kHasWorkers, uint64_t, uint32_t>;
inline constexpr Number kPortOp = static_cast<Number>(-1);
constexpr Access MakeAccess(uint32_t tensor, Number op) {
  return static_cast<Access>(tensor) << kNumberBits | op;
}
constexpr uint32_t TensorOf(Access access) { return static_cast<uint32_t>(access >> kNumberBits); }
constexpr Number OpOf(Access access) { return static_cast<Number>(access); }

/// One program under check, as every build checks it.
struct CheckedProgram {
  const PlanView& plan;
  ProgramView program;
  Reporter& reporter;

  size_t ops = 0;
  size_t storages = 0;
  size_t tensors = 0;
  size_t references = 0;     ///< operands in arenas, ports, and three for each state
  size_t most_operands = 0;  ///< of an op, workspaces always counted

  Access* accesses = nullptr;  ///< scratch: `references` of them

  /// Comparisons left for what is not linear: storages with several writers, channels. A plan that
  /// needs more is refused rather than allowed to take forever.
  size_t budget = 0;

  /// Reports a violation: `subject` is what it is about, or null. Inlined, so that a build without
  /// words does not look for the subject.
  [[gnu::always_inline]] void Fail(const char* subject, Message message, size_t a = 0,
                                   size_t b = 0) const {
    if constexpr (kHasWords) {
      FailAbout(subject, message, a, b);
    } else {
      FailAt(message, a);
    }
  }
  /// Subtracts a comparison from the budget; when none is left, reports that once and returns
  /// false.
  bool Spend();

  [[nodiscard]] StorageInfo StorageOf(uint32_t tensor) const {
    return program.storage(program.tensor(tensor).storage);
  }

 private:
  [[gnu::noinline]] void FailAt(Message message, size_t a) const;
  [[gnu::noinline]] void FailAbout(const char* subject, Message message, size_t a, size_t b) const;
};

/// Takes the program's counts of what every build checks; false if its vectors have more elements
/// than the file has bytes: then many tables share them, which no converter writes and which would
/// let a small file take very long.
[[nodiscard]] bool CountReferences(CheckedProgram& check);

/// The storage of a tensor if that lies in an arena, or kNoStorage. Of a plan that has not been
/// checked, too.
inline constexpr uint32_t kNoStorage = UINT32_MAX;
[[nodiscard]] uint32_t ArenaStorage(const CheckedProgram& check, int32_t tensor);

/// Calls `visit(storage, access)` for every operand, port and state in an arena that is written, or
/// for every one that is read. (Nothing writes constants, so there is nothing to order.)
template <typename Visit>
void ForEachAccess(const CheckedProgram& check, bool writes, const Visit& visit) {
  const ProgramView& program = check.program;
  const auto visit_arena = [&](int32_t tensor, Number op) {
    const uint32_t storage = ArenaStorage(check, tensor);
    if (storage != kNoStorage) visit(storage, MakeAccess(static_cast<uint32_t>(tensor), op));
  };
  const size_t ports = writes ? program.input_count() : program.output_count();
  for (size_t i = 0; i < ports; ++i) {
    const uint32_t tensor = (writes ? program.input(i) : program.output(i)).tensor;
    visit_arena(static_cast<int32_t>(tensor), kPortOp);
  }
  // What an earlier run has left is there before this one, and for the next one after it.
  for (size_t i = 0; kHasState && i < program.state_count(); ++i) {
    const StateInfo state = program.state(i);
    visit_arena(static_cast<int32_t>(state.read), kPortOp);
    if (!writes) visit_arena(static_cast<int32_t>(state.write), kPortOp);
  }
  for (size_t i = 0; i < check.ops; ++i) {
    const OpInfo info = program.op(i);
    const auto op = static_cast<Number>(i);
    for (const int32_t tensor : writes ? info.outputs : info.inputs) visit_arena(tensor, op);
    if (kHasConditions && !writes) visit_arena(program.op_condition(i).tensor, op);
    if (!writes) continue;
    visit_arena(info.workspace, op);
    if (kHasDevices) visit_arena(info.fallback_workspace, op);
  }
}

/// True of a storage of an arena that is memory which the caller keeps an input in: a run must not
/// write there.
[[nodiscard]] inline bool IsOnlyRead(const CheckedProgram& check, const StorageInfo& storage) {
  return kHasInputRows && check.program.arena_use(storage.index) != ArenaUse::kPlanned;
}

/// True if the access is an op's workspace.
[[nodiscard]] bool IsWorkspace(const CheckedProgram& check, Access access);

/// The op that writes storage `after` in place of its input on storage `before`, or kPortOp;
/// `writer` is one of those that write `after`. Everything that the op reads of `before` must be
/// the very elements that it writes: a kernel reads each one before it writes it, but not its
/// neighbours.
[[nodiscard]] Number InPlaceOp(const CheckedProgram& check, uint32_t before, uint32_t after,
                               Access writer);

/// Indices, ranges and references of arenas, storages, tensors, ops and ports. False if the other
/// parts cannot trust them.
bool CheckIndices(CheckedProgram& check);
/// Checks that inputs which may come by rows are read as those come. Needs sound indices and steps.
void CheckRows(CheckedProgram& check);

}  // namespace tenon::plan_check

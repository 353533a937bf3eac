// The plan check of firmware, where one worker runs the first program's ops on the CPU.
//
// Order is then the place in the worker's list; there are no clocks, no waits, no channels, and
// nothing that segments could say. Everything else is checked as in other builds, by the same code
// or a simpler form of it: what takes turns in memory is compared pair by pair, within a budget.
#include <cstring>
#include <initializer_list>

#include "runtime/format/plan_check_state.hpp"
#include "runtime/format/region.hpp"
#include "runtime/format/run_reader.hpp"

namespace tenon {
namespace plan_check {
namespace {

/// When the caller writes inputs and reads outputs; ops run from 1.
constexpr Number kBefore = 0;
constexpr Number kAfter = kPortOp;

/// The end of a list of accesses.
constexpr Number kNone = kPortOp;

/// Arrays are scratch. Times are places in the order of steps.
struct FirmwareCheck : CheckedProgram {
  FirmwareCheck(const PlanView& view, Reporter& to) : CheckedProgram{view, view.program(0), to} {}

  // Accesses of a storage are a list that begins at `first`: those that write, then, from
  // `first_reader`, those that read.
  Number* next = nullptr;          ///< per access: the next one's place, or kNone
  Number* first = nullptr;         ///< per storage
  Number* first_reader = nullptr;  ///< per storage
  Number* position = nullptr;      ///< per op: when it runs, or 0 if it is not known yet

  /// When the op of an access runs, or the caller does its part: kBefore if it writes, else kAfter.
  [[nodiscard, gnu::noinline]] Number At(Access access, Number caller) const {
    return OpOf(access) == kPortOp ? caller : position[OpOf(access)];
  }
  [[nodiscard]] Number WrittenAt(Access access) const { return At(access, kBefore); }
  [[nodiscard]] Number ReadAt(Access access) const { return At(access, kAfter); }
  [[nodiscard]] const char* NameOf(Access access) const {
    return OpOf(access) == kPortOp ? program.name() : program.op(OpOf(access)).name;
  }
  /// Its offset is in the arena.
  [[nodiscard]] Region RegionOf(Access access) const {
    const TensorInfo tensor = program.tensor(TensorOf(access));
    Region region = MakeRegion(tensor);
    const PlanBytes offset = program.storage(tensor.storage).offset;
    region.offset += offset;
    region.end += offset;
    return region;
  }
};

/// Also holds the operands of any op, of which loading makes use. Measure has bounded the counts:
/// this cannot overflow.
size_t ScratchBytes(const CheckedProgram& check) {
  const size_t numbers = check.references + check.ops + 2 * check.storages;
  const size_t lists = check.references * sizeof(Access) + numbers * sizeof(Number);
  const size_t room = check.most_operands * kOperandRoomBytes;
  return ((lists > room ? lists : room) + 15) / 16 * 16;
}

void Carve(FirmwareCheck& check, uint8_t* scratch) {
  check.accesses = reinterpret_cast<Access*>(scratch);
  check.next = reinterpret_cast<Number*>(check.accesses + check.references);
  check.position = check.next + check.references;
  check.first = check.position + check.ops;
  check.first_reader = check.first + check.storages;
}

/// False if the program is too large for this build's numbers, or its vectors are too long.
bool Measure(CheckedProgram& check) {
  return CountReferences(check) && check.references < kPortOp && check.ops < kPortOp &&
         check.storages < kPortOp && check.tensors < kPortOp;
}

/// Lists accesses by storage.
void ListAccesses(FirmwareCheck& check) {
  // `first` and `first_reader`, which stand side by side.
  std::memset(check.first, 0xFF, 2 * check.storages * sizeof *check.first);
  Number used = 0;
  for (const bool writes : {false, true}) {
    ForEachAccess(check, writes, [&](uint32_t storage, Access access) {
      check.accesses[used] = access;
      check.next[used] = check.first[storage];
      check.first[storage] = used;
      if (!writes) check.first_reader[storage] = used;
      ++used;
    });
  }
}

/// Every op has its step; fills `position`.
bool CheckOrder(FirmwareCheck& check) {
  const ProgramView& program = check.program;
  const size_t before = check.reporter.count();
  std::memset(check.position, 0, check.ops * sizeof *check.position);
  for (size_t i = 0; i < program.step_count(0); ++i) {
    const uint32_t op = program.step_op(0, i);
    if (op >= check.ops || check.position[op] != 0) {
      check.Fail(program.name(), "step {0} of worker {1} has no op, or one that runs twice", i);
      continue;
    }
    check.position[op] = static_cast<Number>(i + 1);
  }
  for (size_t i = 0; i < check.ops; ++i) {
    if (check.position[i] == 0) check.Fail(program.op(i).name, "op {0} is in no step", i);
  }
  return check.reporter.count() == before;
}

/// Levels 0 to `level` of a region, or of one of its parts: bytes from `offset` on, with gaps.
struct Run {
  const Region& region;
  int level;
  PlanBytes offset;
  PlanBytes end;
};

/// Bytes that two parts of regions have in common. Recursive, as deep as both have levels.
PlanBytes CommonBytes(FirmwareCheck& check, const Run& a, const Run& b) {
  const PlanBytes begin = a.offset > b.offset ? a.offset : b.offset;
  const PlanBytes end = a.end < b.end ? a.end : b.end;
  if (end <= begin) return 0;
  if (a.level == 0) return b.level == 0 ? end - begin : CommonBytes(check, b, a);
  const PlanBytes pitch = a.region.pitch[a.level];
  const PlanBytes gaps = (a.region.count[a.level] - 1) * pitch;
  // The parts that end behind `begin`, up to the last that begins before `end`.
  Run part = {a.region, a.level - 1, a.offset, a.end - gaps};
  const PlanBytes skipped = begin < part.end ? 0 : (begin - part.end) / pitch;
  part.offset += skipped * pitch;
  part.end += skipped * pitch;
  PlanBytes bytes = 0;
  for (; part.end <= a.end && part.offset < end && check.Spend();
       part.offset += pitch, part.end += pitch) {
    bytes += CommonBytes(check, part, b);
  }
  return bytes;
}

[[gnu::noinline]] PlanBytes CommonBytes(FirmwareCheck& check, const Region& a, Access access) {
  const Region b = check.RegionOf(access);
  return CommonBytes(check, Run{a, a.levels - 1, a.offset, a.end},
                     Run{b, b.levels - 1, b.offset, b.end});
}

/// A storage's writers must not share bytes, with each other or with themselves. Looks at the one
/// at `place` and those behind it.
void CheckWriter(FirmwareCheck& check, size_t storage, Number place) {
  const Access writer = check.accesses[place];
  const Number end = check.first_reader[storage];
  const Region region = check.RegionOf(writer);
  if (!region.distinct) {
    check.Fail(check.program.tensor(TensorOf(writer)).name,
               "written, but its strides let elements overlap (tensor {0})", TensorOf(writer));
  }
  if (OpOf(writer) != kPortOp && IsOnlyRead(check, check.program.storage(storage))) {
    check.Fail(check.program.name(), "storage {0} is written in memory that is only read", storage);
  }
  if (IsWorkspace(check, writer) && check.next[check.first[storage]] != kNone) {
    check.Fail(check.NameOf(writer), "its workspace is used elsewhere too");
  }
  for (Number k = check.next[place]; k != end && check.Spend(); k = check.next[k]) {
    const Access other = check.accesses[k];
    if (CommonBytes(check, region, other) == 0) continue;
    // Inputs and states stand behind all others.
    if (kHasWords && OpOf(other) == kPortOp) {
      check.Fail(check.program.tensor(TensorOf(other)).name,
                 "is on bytes of an input or a state, which nothing else may write");
    } else {
      check.Fail(check.NameOf(writer), "writes bytes of tensor {0} that op {1} writes",
                 TensorOf(writer), OpOf(other));
    }
  }
}

/// Everything that a reader reads has been written by then.
void CheckReader(FirmwareCheck& check, size_t storage, Access reader) {
  const Region region = check.RegionOf(reader);
  PlanBytes written = 0;
  for (Number k = check.first[storage]; k != check.first_reader[storage]; k = check.next[k]) {
    const Access writer = check.accesses[k];
    if (check.WrittenAt(writer) >= check.ReadAt(reader) || !check.Spend()) continue;
    written += CommonBytes(check, region, writer);
  }
  if (written < region.bytes) {
    check.Fail(check.NameOf(reader), "reads tensor {0} before all of it is written",
               TensorOf(reader));
  }
}

/// What a storage's readers read has been written, once.
void CheckStorage(FirmwareCheck& check, size_t storage) {
  Number place = check.first[storage];
  for (; place != check.first_reader[storage]; place = check.next[place]) {
    CheckWriter(check, storage, place);
  }
  for (; place != kNone; place = check.next[place]) {
    CheckReader(check, storage, check.accesses[place]);
  }
}

/// True if storage `after` is written on bytes that something uses in `before` then or later, but
/// for an op that takes over what it reads.
bool IsWrittenTooEarly(FirmwareCheck& check, uint32_t before, uint32_t after) {
  Number caller = kBefore;
  for (Number k = check.first[before]; k != kNone; k = check.next[k]) {
    const Access use = check.accesses[k];
    if (k == check.first_reader[before]) caller = kAfter;
    const Number at = check.At(use, caller);
    Number place = check.first[after];
    for (; place != check.first_reader[after] && check.Spend(); place = check.next[place]) {
      const Access writer = check.accesses[place];
      const Number from = check.WrittenAt(writer);
      if (at < from) continue;
      if (at == from && InPlaceOp(check, before, after, writer) != kPortOp) continue;
      if (CommonBytes(check, check.RegionOf(use), writer) != 0) return true;
    }
  }
  return false;
}

/// Storages that share bytes of an arena take turns there: all uses of one come before all writes
/// of the other.
void CheckOccupancy(FirmwareCheck& check) {
  for (uint32_t b = 0; b < check.storages; ++b) {
    const StorageInfo in_b = check.program.storage(b);
    for (uint32_t a = 0; a < b && check.Spend(); ++a) {
      const StorageInfo in_a = check.program.storage(a);
      if (in_a.index == in_b.index && in_a.offset < in_b.offset + in_b.bytes &&
          in_b.offset < in_a.offset + in_a.bytes && IsWrittenTooEarly(check, a, b) &&
          IsWrittenTooEarly(check, b, a)) {
        check.Fail(check.program.name(),
                   "storage {0} is written while storage {1} is alive on the same bytes", b, a);
      }
    }
  }
}

void CheckProgram(FirmwareCheck& check) {
  if (check.program.worker_count() != 1) {
    return check.Fail(
        check.program.name(),
        "has {0} workers, but a firmware runtime runs one: convert for a board of one core",
        check.program.worker_count());
  }
  if (!CheckIndices(check) || !CheckOrder(check)) return;
  ListAccesses(check);
  for (size_t s = 0; s < check.storages; ++s) CheckStorage(check, s);
  CheckOccupancy(check);
  if (kHasInputRows) CheckRows(check);
}

}  // namespace
}  // namespace plan_check

size_t PlanCheckScratchBytes(const PlanView& plan) {
  if (plan.program_count() == 0) return 0;
  const ViolationSink sink;
  plan_check::Reporter reporter(sink);
  plan_check::CheckedProgram check{plan, plan.program(0), reporter};
  return plan_check::Measure(check) ? plan_check::ScratchBytes(check) : 0;
}

Status CheckPlan(const PlanView& plan, Span<uint8_t> scratch, const ViolationSink& sink) {
  TENON_ENSURE(plan.program_count() > 0, kCorruptPlan, "the plan has no program");
  plan_check::Reporter reporter(sink);
  plan_check::FirmwareCheck check(plan, reporter);
  for (size_t i = 0; i < plan.section_count(); ++i) {
    if (plan.section(i).space >= plan.space_count()) {
      check.Fail(plan.section(i).name, "section in no memory space");
    }
  }
  if (!plan_check::Measure(check)) {
    check.Fail(check.program.name(),
               "program too large for this build, or with too many references");
    return reporter.first();
  }
  const size_t needed = plan_check::ScratchBytes(check);
  TENON_ENSURE(scratch.size() >= needed, kOutOfMemory,
               "the plan check needs {0} bytes of scratch, got {1}", static_cast<int64_t>(needed),
               static_cast<int64_t>(scratch.size()));
  plan_check::Carve(check, scratch.data());
  plan_check::CheckProgram(check);
  return reporter.first();
}

}  // namespace tenon

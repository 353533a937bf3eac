// The plan check of firmware: one worker, which runs the first program's ops on the CPU.
//
// Order is then the place in the worker's list; there are no clocks, no waits, no channels, and
// nothing that segments could say. Everything else is checked as in other builds, by the same code
// or a simpler form of it: what takes turns in memory is compared pair by pair, within a budget.
#include <cstring>

#include "runtime/format/plan_check_state.hpp"

namespace tenon {
namespace plan_check {
namespace {

/// When the caller writes inputs and reads outputs; ops run from 1.
constexpr Number kBefore = 0;
constexpr Number kAfter = kPortOp;

/// Arrays are scratch. Times are places in the order of steps.
struct FirmwareCheck : CheckedProgram {
  FirmwareCheck(const PlanView& view, Reporter& to) : CheckedProgram{view, view.program(0), to} {}

  Number* position = nullptr;     ///< per op: when it runs, or 0 if it is not known yet
  Number* first_write = nullptr;  ///< per storage: when it is first written
  Number* last_use = nullptr;     ///< per storage: when it is last written or read

  [[nodiscard]] Number WrittenAt(Access access) const {
    return OpOf(access) == kPortOp ? kBefore : position[OpOf(access)];
  }
  [[nodiscard]] Number ReadAt(Access access) const {
    return OpOf(access) == kPortOp ? kAfter : position[OpOf(access)];
  }
  [[nodiscard]] const char* NameOf(Access access) const {
    return OpOf(access) == kPortOp ? program.name() : program.op(OpOf(access)).name;
  }
  [[nodiscard]] Region RegionOf(Access access) const {
    return MakeRegion(program.tensor(TensorOf(access)));
  }
};

size_t Carve(FirmwareCheck& check, uint8_t* base) {
  Carver carver(base);
  carver.Take(check.accesses, check.references);
  carver.Take(check.position, check.ops);
  carver.Take(check.access_begin, check.storages + 1);
  carver.Take(check.reader_begin, check.storages);
  carver.Take(check.first_write, check.storages);
  carver.Take(check.last_use, check.storages);
  return (carver.used() + 15) / 16 * 16;
}

/// False if the program is too large for this build's numbers, or its vectors are too long.
bool Measure(FirmwareCheck& check) {
  return CountReferences(check) && check.references < kPortOp && check.ops < kPortOp &&
         check.storages < kPortOp && check.tensors < kPortOp;
}

/// True if the kernel's name begins with the CPU's. (Of the C library, firmware has mem* only.)
bool IsOfCpu(const char* kernel) {
  constexpr char kCpu[] = "cpu.";
  size_t same = 0;
  while (same < sizeof kCpu - 1 && kernel[same] == kCpu[same]) ++same;
  return same == sizeof kCpu - 1;
}

/// True if the program is one worker's, on the CPU, one input at a time.
bool CanRun(const FirmwareCheck& check) {
  const ProgramView& program = check.program;
  if (program.worker_count() != 1 || program.channel_count() > 0 ||
      program.mode() == static_cast<uint8_t>(ProgramMode::kPipeline)) {
    return false;
  }
  for (size_t i = 0; i < program.arena_count(); ++i) {
    if (program.arena(i).slots > 1) return false;
  }
  for (size_t i = 0; i < check.ops; ++i) {
    const size_t kernel = program.op(i).kernel;
    if (kernel < check.plan.kernel_count() && !IsOfCpu(check.plan.kernel(kernel))) {
      return false;
    }
  }
  for (size_t i = 0; i < program.step_count(0); ++i) {
    if (program.step(0, i).wait_count > 0) return false;
  }
  return true;
}

/// Every op has its step; fills `position`.
bool CheckOrder(FirmwareCheck& check) {
  const ProgramView& program = check.program;
  const size_t before = check.reporter.count();
  std::memset(check.position, 0, check.ops * sizeof *check.position);
  for (size_t i = 0; i < program.step_count(0); ++i) {
    const uint32_t op = program.step(0, i).op;
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

/// Writers must not share bytes, with each other or with themselves.
void CheckWriters(FirmwareCheck& check, Span<const Access> writers) {
  for (size_t i = 0; i < writers.size(); ++i) {
    const uint32_t tensor = TensorOf(writers[i]);
    const Region region = check.RegionOf(writers[i]);
    if (!region.distinct) {
      check.Fail(check.program.tensor(tensor).name,
                 "written, but its strides let elements overlap (tensor {0})", tensor);
    }
    if (writers.size() == 1) return;
    if (OpOf(writers[i]) == kPortOp) {
      check.Fail(check.program.tensor(tensor).name,
                 "is on the storage of an input, which nothing else may write");
    }
    for (size_t k = 0; k < i && check.Spend(); ++k) {
      if (CommonBytes(check, region, check.RegionOf(writers[k])) != 0) {
        check.Fail(check.NameOf(writers[k]), "writes bytes of tensor {0} that op {1} writes",
                   TensorOf(writers[k]), OpOf(writers[i]));
      }
    }
  }
}

/// True if everything that `reader` reads has been written by then.
bool IsWritten(FirmwareCheck& check, Access reader, Span<const Access> writers) {
  const Region region = check.RegionOf(reader);
  PlanBytes written = 0;
  for (const Access writer : writers) {
    if (check.WrittenAt(writer) >= check.ReadAt(reader) || !check.Spend()) continue;
    const PlanBytes bytes = CommonBytes(check, region, check.RegionOf(writer));
    if (bytes != kUnknownOverlap) written += bytes;
  }
  return written >= region.bytes;
}

/// What a storage's readers read has been written, once. Fills first_write and last_use.
void CheckStorage(FirmwareCheck& check, size_t storage) {
  const Access* begin = check.accesses + check.access_begin[storage];
  const Access* end = check.accesses + check.access_begin[storage + 1];
  const Access* readers = check.accesses + check.reader_begin[storage];
  const Span<const Access> writers(begin, static_cast<size_t>(readers - begin));
  Number first = kAfter;
  Number last = kBefore;
  for (const Access* access = begin; access != end; ++access) {
    const bool writes = access < readers;
    const Number at = writes ? check.WrittenAt(*access) : check.ReadAt(*access);
    if (writes && at < first) first = at;
    if (at > last) last = at;
    if (writes && end - begin > 1 && IsWorkspace(check, *access)) {
      check.Fail(check.NameOf(*access), "its workspace is used elsewhere too");
    }
  }
  check.first_write[storage] = first;
  check.last_use[storage] = last;
  CheckWriters(check, writers);
  for (; readers != end; ++readers) {
    if (!IsWritten(check, *readers, writers)) {
      check.Fail(check.NameOf(*readers), "reads tensor {0} before all of it is written",
                 TensorOf(*readers));
    }
  }
}

/// Storages that share bytes take turns: one is done before the next is written, but for the op
/// that takes memory over in place.
void CheckTurn(const FirmwareCheck& check, uint32_t a, uint32_t b) {
  const bool in_order = check.first_write[a] <= check.first_write[b];
  const uint32_t before = in_order ? a : b;
  const uint32_t after = in_order ? b : a;
  if (check.last_use[before] < check.first_write[after]) return;
  const StorageInfo in_a = check.program.storage(a);
  const StorageInfo in_b = check.program.storage(b);
  if (in_a.index != in_b.index || in_a.bytes == 0 || in_b.bytes == 0 ||
      in_a.offset >= in_b.offset + in_b.bytes || in_b.offset >= in_a.offset + in_a.bytes) {
    return;
  }
  const Number op = InPlaceOp(check, before, after);
  if (op != kPortOp && check.last_use[before] == check.position[op]) return;
  check.Fail(check.program.name(),
             "storage {0} is written while storage {1} is alive on the same bytes", after, before);
}

void CheckOccupancy(FirmwareCheck& check) {
  const auto is_written = [&](uint32_t storage) {
    return check.access_begin[storage] != check.reader_begin[storage];
  };
  for (uint32_t b = 0; b < check.storages; ++b) {
    if (!is_written(b)) continue;
    for (uint32_t a = 0; a < b && !check.reporter.stopped(); ++a) {
      if (is_written(a) && check.Spend()) CheckTurn(check, a, b);
    }
  }
}

void CheckProgram(FirmwareCheck& check) {
  if (!CanRun(check)) {
    return check.Fail(check.program.name(),
                      "needs a device, several workers or a pipeline, which this runtime was built "
                      "without");
  }
  if (!CheckIndices(check) || check.reporter.stopped() || !CheckOrder(check)) return;
  ListAccesses(check);
  for (size_t s = 0; s < check.storages && !check.reporter.stopped(); ++s) CheckStorage(check, s);
  CheckOccupancy(check);
}

}  // namespace
}  // namespace plan_check

size_t PlanCheckScratchBytes(const PlanView& plan) {
  if (plan.program_count() == 0) return 0;
  const ViolationSink sink;
  plan_check::Reporter reporter(sink);
  plan_check::FirmwareCheck check(plan, reporter);
  return plan_check::Measure(check) ? plan_check::Carve(check, nullptr) : 0;
}

Status CheckPlan(const PlanView& plan, Span<uint8_t> scratch, const ViolationSink& sink) {
  TENON_ENSURE(reinterpret_cast<uintptr_t>(scratch.data()) % 16 == 0, kInvalidArgument,
               "the plan check's scratch must be aligned to 16");
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
  const size_t needed = plan_check::Carve(check, scratch.data());
  TENON_ENSURE(scratch.size() >= needed, kOutOfMemory,
               "the plan check needs {0} bytes of scratch, got {1}", static_cast<int64_t>(needed),
               static_cast<int64_t>(scratch.size()));
  plan_check::CheckProgram(check);
  return reporter.first();
}

}  // namespace tenon

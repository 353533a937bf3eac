// The plan check's entry points, which set up scratch and budget and run the parts in order.
#include "runtime/format/plan_check.hpp"

#include <initializer_list>

#include "runtime/format/plan_check_workers.hpp"
#include "runtime/format/rank_set.hpp"

namespace tenon {
namespace plan_check {

bool ProgramCheck::HappensBefore(uint32_t before, uint32_t after) const {
  if (before == kPortOp || after == kPortOp) return true;
  return Done(before) <= ClockOf(after)[worker[before]];
}

namespace {

/// Hands out parts of the scratch; without a base it only counts.
class Carver {
 public:
  explicit Carver(uint8_t* base) : base_(base) {}

  template <typename T>
  void Take(T*& array, uint64_t count) {
    used_ = (used_ + alignof(T) - 1) / alignof(T) * alignof(T);
    if (base_ != nullptr) array = reinterpret_cast<T*>(base_ + used_);
    used_ += count * sizeof(T);
  }
  [[nodiscard]] uint64_t used() const { return used_; }

 private:
  uint8_t* base_;
  uint64_t used_ = 0;
};

/// Counts are below 2^31 each and `references` below the file's size, so this cannot overflow.
uint64_t Carve(ProgramCheck& check, uint8_t* base) {
  const uint64_t ops = check.ops;
  const uint64_t storages = check.storages;
  Carver carver(base);
  carver.Take(check.keys, 2 * storages);
  carver.Take(check.accesses, check.references);
  carver.Take(check.clock, ops * check.workers);
  carver.Take(check.position, ops);
  carver.Take(check.step, ops);
  carver.Take(check.group, ops);
  carver.Take(check.done, ops);
  carver.Take(check.segment, ops);
  carver.Take(check.access_begin, storages + 1);
  carver.Take(check.reader_begin, storages);
  carver.Take(check.first_clock, storages * check.workers);
  carver.Take(check.last_clock, storages * check.workers);
  carver.Take(check.rank, storages);
  carver.Take(check.by_rank, storages + 1);
  carver.Take(check.next, storages + 1);
  carver.Take(check.previous, storages + 1);
  carver.Take(check.rank_bits, RankSet::Words(check.storages + 1));
  carver.Take(check.cursor, uint64_t{kCursorWords} * check.segments);
  carver.Take(check.writer_segment, storages);
  carver.Take(check.read_by, storages);
  carver.Take(check.arena_channel, check.arenas);
  carver.Take(check.uploaded, check.tensors);
  carver.Take(check.arena_stage, check.arenas);
  carver.Take(check.worker, ops);
  return carver.used();
}

/// Takes the program's counts. False if it has more than kMaxWorkers, or too long vectors (see
/// CountReferences). Both are refused before scratch is used.
bool Measure(ProgramCheck& check) {
  const ProgramView& program = check.program;
  check.workers = program.worker_count();
  check.segments = program.segment_count();
  check.arenas = program.arena_count();
  check.is_pipeline = program.mode() == static_cast<uint8_t>(ProgramMode::kPipeline);
  uint64_t others = 0;
  for (size_t i = 0; i < check.workers; ++i) {
    for (size_t step = 0; step < program.step_count(i); ++step) {
      others += program.step(i, step).wait_count;
    }
  }
  for (size_t i = 0; i < check.segments; ++i) {
    const SegmentInfo segment = program.segment(i);
    others += segment.ops.size() + segment.reads.size() + segment.writes.size();
    if (program.segment_code_count(i) > 0) others += program.segment_code(i).relocation_count;
  }
  for (size_t i = 0; i < program.group_count(); ++i) others += program.group(i).ops.size();
  for (size_t i = 0; i < program.channel_count(); ++i) others += program.channel(i).tensors.size();
  return CountReferences(check) && check.workers >= 1 && check.workers <= kMaxWorkers &&
         others <= check.plan.file().size();
}

void CheckProgram(ProgramCheck& check) {
  if (!CheckIndices(check) || check.reporter.stopped()) return;
  if (!CheckSegmentIndices(check) || check.reporter.stopped()) return;
  if (!CheckStages(check) || check.reporter.stopped()) return;
  if (!CheckGroupIndices(check) || check.reporter.stopped()) return;
  if (!CheckOrder(check) || check.reporter.stopped()) return;
  for (const auto part : {CheckStorages, CheckOccupancy, CheckSegments, CheckExchange, CheckCode,
                          CheckChannels, CheckInPlace}) {
    part(check);
    if (check.reporter.stopped()) return;
  }
  if (kHasInputRows) CheckRows(check);
}

}  // namespace
}  // namespace plan_check

size_t PlanCheckScratchBytes(const PlanView& plan) {
  const ViolationSink sink;
  plan_check::Reporter reporter(sink);
  uint64_t largest = 0;
  for (size_t i = 0; i < plan.program_count(); ++i) {
    plan_check::ProgramCheck check(plan, plan.program(i), reporter);
    if (!plan_check::Measure(check)) continue;
    const uint64_t bytes = plan_check::Carve(check, nullptr);
    if (bytes > largest) largest = bytes;
  }
  largest = (largest + 15) / 16 * 16;
  return largest < SIZE_MAX ? static_cast<size_t>(largest) : SIZE_MAX;
}

Status CheckPlan(const PlanView& plan, Span<uint8_t> scratch, const ViolationSink& sink) {
  TENON_ENSURE(reinterpret_cast<uintptr_t>(scratch.data()) % 16 == 0, kInvalidArgument,
               "the plan check's scratch must be aligned to 16");
  const size_t needed = PlanCheckScratchBytes(plan);
  TENON_ENSURE(scratch.size() >= needed, kOutOfMemory,
               "the plan check needs {0} bytes of scratch, got {1}", static_cast<int64_t>(needed),
               static_cast<int64_t>(scratch.size()));
  plan_check::Reporter reporter(sink);
  if (plan.program_count() == 0) {
    reporter.Report(Status(StatusCode::kCorruptPlan, "the plan has no program"));
  }
  for (size_t i = 0; i < plan.section_count(); ++i) {
    if (plan.section(i).space >= plan.space_count()) {
      reporter.Report(Status(StatusCode::kCorruptPlan, "section in no memory space")
                          .About(plan.section(i).name));
    }
  }
  for (size_t i = 0; i < plan.program_count() && !reporter.stopped(); ++i) {
    plan_check::ProgramCheck check(plan, plan.program(i), reporter);
    if (!plan_check::Measure(check)) {
      check.Fail(check.program.name(),
                 "program with {0} workers (1 to 8), or with too many references", check.workers);
      continue;
    }
    plan_check::Carve(check, scratch.data());
    plan_check::CheckProgram(check);
  }
  return reporter.first();
}

}  // namespace tenon

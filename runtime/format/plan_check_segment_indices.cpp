// Plan check, part 1 for segments: what they list is in range, and every op is in exactly one.
#include <cstring>
#include <initializer_list>

#include "runtime/format/plan_check_workers.hpp"

namespace tenon::plan_check {
namespace {

/// True if the kernel called `kernel` belongs to `backend`: "cpu.conv.portable" to "cpu".
bool BelongsTo(const char* kernel, const char* backend) {
  const size_t length = std::strlen(backend);
  return std::strncmp(kernel, backend, length) == 0 && kernel[length] == '.';
}

/// A fall-back kernel is the CPU's.
void CheckFallbackKernel(const ProgramCheck& check, const OpInfo& op, size_t index) {
  if (op.fallback_kernel >= 0 &&
      !BelongsTo(check.plan.kernel(static_cast<size_t>(op.fallback_kernel)), kCpu)) {
    check.Fail(op.name, "op {0}: its fall-back kernel is not the CPU's", index);
  }
}

/// All ops of a segment have a fall-back kernel or none has, and the CPU needs none.
void CheckFallback(const ProgramCheck& check, const SegmentInfo& segment, size_t index) {
  for (const uint32_t op : segment.ops) {
    if (op >= check.ops || segment.ops[0] >= check.ops) return;
    const bool has_one = check.HasFallback(op);
    if (has_one != check.HasFallback(segment.ops[0]) || (has_one && check.IsOnCpu(segment))) {
      check.Fail(check.program.op(op).name,
                 "segment {0}: a fall-back kernel for some of its ops only, or for the CPU", index);
      return;
    }
  }
}

void CheckSegmentLists(ProgramCheck& check) {
  const ProgramView& program = check.program;
  for (size_t i = 0; i < check.ops; ++i) check.segment[i] = UINT32_MAX;
  for (size_t i = 0; i < check.segments; ++i) {
    const SegmentInfo segment = program.segment(i);
    if (segment.stage >= program.stage_count() || segment.backend >= check.plan.backend_count()) {
      check.Fail(program.name(), "segment {0}: backend or stage out of range", i);
      continue;
    }
    CheckFallback(check, segment, i);
    for (const uint32_t op : segment.ops) {
      if (op >= check.ops || check.segment[op] != UINT32_MAX) {
        check.Fail(program.name(), "segment {0}: no op {1}, or it is in two segments", i, op);
        continue;
      }
      check.segment[op] = static_cast<uint32_t>(i);
      const OpInfo info = program.op(op);
      if (!BelongsTo(check.plan.kernel(info.kernel), check.plan.backend(segment.backend))) {
        check.Fail(info.name, "op {0} has a kernel of another backend than its segment", op);
      }
    }
  }
  for (size_t i = 0; i < check.ops; ++i) {
    if (check.segment[i] == UINT32_MAX) {
      check.Fail(program.op(i).name, "op {0} is in no segment", i);
    }
  }
}

/// What segments exchange are tensors in arenas.
void CheckExchangeIndices(const ProgramCheck& check) {
  for (size_t i = 0; i < check.segments; ++i) {
    const SegmentInfo segment = check.program.segment(i);
    for (const Span<const uint32_t> list : {segment.reads, segment.writes}) {
      for (const uint32_t tensor : list) {
        if (tensor >= check.tensors || check.StorageOf(tensor).home != StorageHome::kArena) {
          check.Fail(check.program.name(),
                     "segment {0}: exchanges tensor {1}, which is in no arena", i, tensor);
        }
      }
    }
  }
}

}  // namespace

bool ProgramCheck::IsOnCpu(const SegmentInfo& info) const {
  return std::strcmp(plan.backend(info.backend), kCpu) == 0;
}

bool CheckSegmentIndices(ProgramCheck& check) {
  const ProgramView& program = check.program;
  const size_t before = check.reporter.count();
  for (size_t i = 0; i < check.ops; ++i) CheckFallbackKernel(check, program.op(i), i);
  CheckSegmentLists(check);
  CheckConditions(check);
  for (size_t i = 0; i < program.stage_count(); ++i) {
    if (program.stage_worker(i) >= check.workers) {
      check.Fail(program.name(), "stage {0} runs on no worker", i);
    }
  }
  CheckExchangeIndices(check);
  return check.reporter.count() == before;
}

}  // namespace tenon::plan_check

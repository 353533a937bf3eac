// Plan check, part 6: segments of devices can be started once each, and what they and others write
// for each other is listed, so that it is carried over where a device has memory of its own.
#include "runtime/format/plan_check_workers.hpp"

namespace tenon::plan_check {
namespace {

constexpr size_t kNoBackend = SIZE_MAX;

/// One segment of a device.
struct DeviceSegment {
  uint32_t index;
  SegmentInfo info;
  size_t worker;
};

/// True if an op, or the caller, does not share the segment's device and its queue.
bool IsForeign(const ProgramCheck& check, const DeviceSegment& segment, uint32_t op) {
  return op == kPortOp || check.worker[op] != segment.worker ||
         check.program.segment(check.segment[op]).backend != segment.info.backend;
}

/// Checks that the ops are consecutive steps of one worker, of which only the first waits.
bool CheckShape(const ProgramCheck& check, const DeviceSegment& segment) {
  const Span<const uint32_t> ops = segment.info.ops;
  const size_t first = check.StepOf(ops[0]);
  for (size_t i = 0; i < ops.size(); ++i) {
    const bool follows =
        check.worker[ops[i]] == segment.worker && check.StepOf(ops[i]) == first + i;
    if (!follows || (i > 0 && check.program.step(segment.worker, first + i).wait_count > 0)) {
      check.Fail(check.program.op(ops[i]).name,
                 "segment {0}: its ops are not consecutive steps of which only the first waits",
                 segment.index);
      return false;
    }
  }
  return true;
}

/// Calls `visit(tensor)` for every tensor that others write (IsForeign) and the segment reads.
template <typename Visit>
void ForEachForeignWrite(ProgramCheck& check, const DeviceSegment& segment, const Visit& visit) {
  for (const uint32_t op : segment.info.ops) {
    for (const int32_t input : check.program.op(op).inputs) {
      if (input < 0) continue;
      const auto tensor = static_cast<uint32_t>(input);
      const uint32_t storage = check.program.tensor(tensor).storage;
      check.read_by[storage] = segment.index + 1;
      const uint32_t begin = check.access_begin[storage];  // nothing is listed for constants
      const uint32_t end = check.reader_begin[storage];
      for (uint32_t i = begin; i < end; ++i) {
        const Access writer = check.accesses[i];
        if (!IsForeign(check, segment, OpOf(writer))) continue;
        if (end - begin > 1 && TensorOf(writer) != tensor &&
            (!check.Spend() || !SharesBytes(check, TensorOf(writer), tensor))) {
          continue;
        }
        visit(TensorOf(writer));
      }
    }
  }
}

/// True if a foreign writer fills exactly this tensor and is done before the segment starts.
bool IsWrittenBefore(ProgramCheck& check, const DeviceSegment& segment, uint32_t tensor) {
  const uint32_t storage = check.program.tensor(tensor).storage;
  for (uint32_t i = check.access_begin[storage]; i < check.reader_begin[storage]; ++i) {
    const Access writer = check.accesses[i];
    if (TensorOf(writer) == tensor && IsForeign(check, segment, OpOf(writer))) {
      return check.HappensBefore(OpOf(writer), segment.info.ops[0]);
    }
    if (!check.Spend()) return false;
  }
  return false;
}

/// Everything foreign that the segment reads has been carried over, by it or by one before it; and
/// nothing else is: it could cover what the device has there.
void CheckReads(ProgramCheck& check, const DeviceSegment& segment) {
  const auto bit = static_cast<uint8_t>(1U << segment.worker);
  ForEachForeignWrite(check, segment, [](uint32_t) {});  // fills read_by
  for (const uint32_t tensor : segment.info.reads) {
    const TensorInfo info = check.program.tensor(tensor);
    if (check.read_by[info.storage] != segment.index + 1 ||
        !IsWrittenBefore(check, segment, tensor)) {
      check.Fail(info.name, "segment {0} takes tensor {1} over, which nobody writes for it",
                 segment.index, tensor);
    }
    check.uploaded[tensor] |= bit;
  }
  ForEachForeignWrite(check, segment, [&](uint32_t tensor) {
    if ((check.uploaded[tensor] & bit) != 0) return;
    check.uploaded[tensor] |= bit;  // said once
    check.Fail(check.program.tensor(tensor).name,
               "segment {0} reads bytes of tensor {1}, which it does not take over", segment.index,
               tensor);
  });
}

/// True if someone else reads bytes of what the segment has written.
bool IsReadOutside(ProgramCheck& check, const DeviceSegment& segment, uint32_t tensor) {
  const uint32_t storage = check.program.tensor(tensor).storage;
  const bool counts_all = check.HasFallback(segment.info.ops[0]);
  for (uint32_t i = check.reader_begin[storage]; i < check.access_begin[storage + 1]; ++i) {
    const uint32_t op = OpOf(check.accesses[i]);
    const bool is_other = counts_all && op != kPortOp && check.segment[op] != segment.index;
    if (!is_other && !IsForeign(check, segment, op)) continue;
    const uint32_t read = TensorOf(check.accesses[i]);
    if (read == tensor || (check.Spend() && SharesBytes(check, read, tensor))) return true;
  }
  return false;
}

/// Everything that others read is handed over, in the order in which it is written.
void CheckWrites(ProgramCheck& check, const DeviceSegment& segment) {
  const Span<const uint32_t> list = segment.info.writes;
  size_t listed = 0;
  for (const uint32_t op : segment.info.ops) {
    for (const int32_t output : check.program.op(op).outputs) {
      const auto tensor = static_cast<uint32_t>(output);
      if (listed < list.size() && list[listed] == tensor) {
        ++listed;
      } else if (IsReadOutside(check, segment, tensor)) {
        check.Fail(check.program.tensor(tensor).name,
                   "segment {0} writes tensor {1} for others, but does not hand it over",
                   segment.index, tensor);
      }
    }
  }
  if (listed < list.size()) {
    check.Fail(check.program.name(),
               "segment {0} hands tensor {1} over, which it does not write, or not in this order",
               segment.index, list[listed]);
  }
}

}  // namespace

void CheckExchange(ProgramCheck& check) {
  const ProgramView& program = check.program;
  for (size_t t = 0; t < check.tensors; ++t) check.uploaded[t] = 0;
  for (size_t s = 0; s < check.storages; ++s) check.read_by[s] = 0;
  for (size_t worker = 0; worker < check.workers; ++worker) {
    size_t device = kNoBackend;
    for (size_t step = 0; step < program.step_count(worker);) {
      const uint32_t index = check.segment[program.step(worker, step).op];
      const DeviceSegment segment{index, program.segment(index), worker};
      ++step;
      if (check.IsOnCpu(segment.info)) continue;
      if (device != kNoBackend && device != segment.info.backend) {
        check.Fail(program.name(), "worker {0} has segments of two devices", worker);
      }
      device = segment.info.backend;
      if (!CheckShape(check, segment)) return;
      step += segment.info.ops.size() - 1;
      CheckReads(check, segment);
      CheckWrites(check, segment);
      if (check.reporter.stopped()) return;
    }
  }
}

}  // namespace tenon::plan_check

// Plan check, part 3: what a storage's readers read has been written, once.
#include "runtime/format/plan_check_workers.hpp"
#include "runtime/format/rank_set.hpp"
#include "runtime/format/region.hpp"

namespace tenon::plan_check {

PlanBytes CommonBytes(ProgramCheck& check, const Region& a, const Region& b) {
  if (b.levels == 1 && b.offset <= a.offset && a.end <= b.end) return a.bytes;
  const PlanBytes known = OverlapBytes(a, b);
  if (known != kUnknownOverlap || (a.levels <= 1 && b.levels <= 1)) return known;
  if (a.levels <= 1) return CommonBytes(check, b, a);
  const int last = a.levels - 1;
  Region row = a;
  row.levels = last;
  row.bytes = a.bytes / a.count[last];
  row.end = a.end - (a.count[last] - 1) * a.pitch[last];
  PlanBytes bytes = 0;
  for (PlanBytes i = 0; i < a.count[last]; ++i) {
    const PlanBytes common = check.Spend() ? CommonBytes(check, row, b) : kUnknownOverlap;
    if (common == kUnknownOverlap) return common;
    bytes += common;
    row.offset += a.pitch[last];
    row.end += a.pitch[last];
  }
  return bytes;
}

Need NeedOf(const ProgramCheck& check, uint32_t storage, Access access, bool writes) {
  const uint32_t op = OpOf(access);
  if (op == kPortOp || !check.HasFallback(op)) return {op, op};
  const Span<const uint32_t> ops = check.program.segment(check.segment[op]).ops;
  if (check.IsFallbackWorkspace(access)) return {ops[0], ops[ops.size() - 1]};
  if (writes || check.segment[op] == check.writer_segment[storage]) return {op, op};
  return {op, ops[ops.size() - 1]};
}

namespace {

/// Sorts accesses by storage, in two rounds over the operands: count, then fill.
void ListAccesses(ProgramCheck& check) {
  for (size_t s = 0; s <= check.storages; ++s) check.access_begin[s] = 0;
  const auto count = [&](uint32_t storage, Access /*access*/) { ++check.access_begin[storage]; };
  ForEachAccess(check, /*writes=*/true, count);
  ForEachAccess(check, /*writes=*/false, count);
  // From counts to ends; filling backwards then leaves begins, and readers behind writers.
  for (size_t s = 1; s <= check.storages; ++s) check.access_begin[s] += check.access_begin[s - 1];
  const auto fill = [&](uint32_t storage, Access access) {
    check.accesses[--check.access_begin[storage]] = access;
  };
  ForEachAccess(check, /*writes=*/false, fill);
  for (size_t s = 0; s < check.storages; ++s) check.reader_begin[s] = check.access_begin[s];
  ForEachAccess(check, /*writes=*/true, fill);
}

bool LessByOffset(const void* context, uint64_t a, uint64_t b) {
  const auto& program = *static_cast<const ProgramView*>(context);
  return program.tensor(TensorOf(a)).offset < program.tensor(TensorOf(b)).offset;
}

const char* NameOf(const ProgramCheck& check, uint32_t op) {
  return op == kPortOp ? check.program.name() : check.program.op(op).name;
}

/// True if the regions are columns of one table, the first writer's rows and pitch, and stand side
/// by side in the order of their offsets: parts of a concatenation, of which there may be
/// thousands. They share nothing then. False says nothing.
bool AreColumns(const ProgramCheck& check, const Access* writers, size_t count) {
  const Region first = MakeRegion(check.program.tensor(TensorOf(writers[0])));
  if (first.levels != 2 || !first.distinct) return false;
  uint64_t taken = first.offset;
  for (size_t i = 0; i < count; ++i) {
    const Region region = MakeRegion(check.program.tensor(TensorOf(writers[i])));
    if (region.levels != 2 || !region.distinct || region.pitch[1] != first.pitch[1] ||
        region.count[1] != first.count[1] || region.offset < taken) {
      return false;
    }
    taken = region.offset + region.count[0];
  }
  return taken - first.offset <= first.pitch[1];
}

/// Writers must not share bytes, with each other or with themselves. Returns how many bytes they
/// write together.
uint64_t CheckWriters(ProgramCheck& check, const Access* writers, size_t count) {
  uint64_t bytes = 0;
  const bool apart = count > 2 && AreColumns(check, writers, count);
  for (size_t i = 0; i < count; ++i) {
    const TensorInfo tensor = check.program.tensor(TensorOf(writers[i]));
    const Region region = MakeRegion(tensor);
    bytes += region.bytes;
    if (!region.distinct) {
      check.Fail(tensor.name, "written, but its strides let elements overlap (tensor {0})",
                 TensorOf(writers[i]));
    }
    // Sorted by offset: who begins behind this one's end is out of its way, and so are the rest.
    for (size_t k = i + 1; k < count && !apart; ++k) {
      const TensorInfo other = check.program.tensor(TensorOf(writers[k]));
      if (other.offset >= region.end || !check.Spend()) break;
      if (CommonBytes(check, region, MakeRegion(other)) == 0) continue;
      if (OpOf(writers[i]) == kPortOp || OpOf(writers[k]) == kPortOp) {
        check.Fail(other.name, "is on bytes of an input or a state, which nothing else may write");
      } else {
        check.Fail(NameOf(check, OpOf(writers[k])), "writes bytes of tensor {0} that op {1} writes",
                   TensorOf(writers[k]), OpOf(writers[i]));
      }
    }
  }
  return bytes;
}

/// True if everything that `reader` reads has been written by then. Looks at the writer that begins
/// where the reader does first, and then at those around it: for parts of a concatenation that is
/// all there is to do.
bool IsWritten(ProgramCheck& check, Access reader, const Access* writers, size_t count) {
  const Region region = MakeRegion(check.program.tensor(TensorOf(reader)));
  size_t first = 0;
  for (size_t end = count; first < end;) {
    const size_t middle = first + (end - first) / 2;
    const bool before = check.program.tensor(TensorOf(writers[middle])).offset < region.offset;
    (before ? first : end) = before ? middle + 1 : middle;
  }
  uint64_t written = 0;
  for (size_t step = 0; step < count && written < region.bytes && check.Spend(); ++step) {
    const size_t i = (first + step) % count;
    if (!check.HappensBefore(OpOf(writers[i]), OpOf(reader))) continue;
    const uint64_t bytes =
        CommonBytes(check, region, MakeRegion(check.program.tensor(TensorOf(writers[i]))));
    if (bytes != kUnknownOverlap) written += bytes;
  }
  return written >= region.bytes;
}

/// The segment whose ops are all that write the storage, or kNoSegment.
uint32_t FindWriterSegment(const ProgramCheck& check, size_t begin, size_t readers) {
  uint32_t segment = kNoSegment;
  for (size_t i = begin; i < readers; ++i) {
    const uint32_t op = OpOf(check.accesses[i]);
    if (op == kPortOp || (i > begin && check.segment[op] != segment)) return kNoSegment;
    segment = check.segment[op];
  }
  return segment;
}

/// Sums a storage up: `first_clock`, the earliest that anything writes it; `last_clock`, when
/// everything that uses it is done; `written`, when everything that writes it is.
void SumUp(ProgramCheck& check, size_t storage, size_t begin, size_t end, uint32_t* written) {
  uint32_t* first = check.first_clock + storage * check.workers;
  uint32_t* last = check.last_clock + storage * check.workers;
  check.writer_segment[storage] = FindWriterSegment(check, begin, check.reader_begin[storage]);
  for (size_t v = 0; v < check.workers; ++v) {
    first[v] = UINT32_MAX;
    last[v] = 0;
    written[v] = 0;
  }
  for (size_t i = begin; i < end; ++i) {
    const bool writes = i < check.reader_begin[storage];
    const Need need = NeedOf(check, static_cast<uint32_t>(storage), check.accesses[i], writes);
    const bool port = need.first == kPortOp;
    for (size_t v = 0; v < check.workers; ++v) {
      const uint32_t start = port ? 0 : check.ClockOf(need.first)[v];
      if (writes && start < first[v]) first[v] = start;
      uint32_t done = writes ? kInputsSet : UINT32_MAX;
      if (!port) done = check.worker[need.last] == v ? check.Done(need.last) : 0;
      if (done > last[v]) last[v] = done;
      if (writes) written[v] = last[v];
    }
  }
}

/// Fall-back workspaces of one segment may share a storage, each op's with nothing else, and not
/// with itself: kernels count by elements. True if there are any; they are checked whole then.
bool CheckFallbackWorkspace(const ProgramCheck& check, size_t storage, size_t begin, size_t end) {
  bool is_one = false;
  bool is_apart = check.reader_begin[storage] == end && check.writer_segment[storage] != kNoSegment;
  for (size_t i = begin; i < check.reader_begin[storage]; ++i) {
    const Access writer = check.accesses[i];
    const bool is_workspace = check.IsFallbackWorkspace(writer);
    // An op's uses of a storage stand side by side: its output may not be its workspace as well.
    const bool is_used_twice = i > begin && writer == check.accesses[i - 1];
    is_one |= is_workspace;
    is_apart &= is_workspace && !is_used_twice &&
                MakeRegion(check.program.tensor(TensorOf(writer))).distinct;
  }
  if (is_one && !is_apart) {
    check.Fail(NameOf(check, OpOf(check.accesses[begin])),
               "shares bytes of the fall-back workspace in storage {0}", storage);
  }
  return is_one;
}

/// True if all that a storage's writers do is done when `op` starts.
bool IsAfter(const ProgramCheck& check, uint32_t op, const uint32_t* written) {
  for (size_t v = 0; v < check.workers && op != kPortOp; ++v) {
    if (check.ClockOf(op)[v] < written[v]) return false;
  }
  return true;
}

/// Whether an op is passed over, the host must know: its condition is not inside a device.
void CheckCondition(const ProgramCheck& check, Access reader, const Access* writers, size_t count) {
  if (OpOf(reader) == kPortOp ||
      check.program.op_condition(OpOf(reader)).tensor != static_cast<int32_t>(TensorOf(reader))) {
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const uint32_t writer = OpOf(writers[i]);
    if (writer == kPortOp || check.IsOnCpu(check.program.segment(check.segment[writer]))) continue;
    check.Fail(NameOf(check, OpOf(reader)), "its condition, tensor {0}, is a device's",
               TensorOf(reader));
  }
}

void CheckStorage(ProgramCheck& check, size_t storage) {
  const size_t begin = check.access_begin[storage];
  const size_t end = check.access_begin[storage + 1];
  const size_t readers = check.reader_begin[storage];
  const size_t writer_count = readers - begin;
  Access* writers = check.accesses + begin;
  uint32_t written[kMaxWorkers];
  SumUp(check, storage, begin, end, written);
  const bool is_written_by_op = readers > begin && OpOf(check.accesses[begin]) != kPortOp;
  if (is_written_by_op && IsOnlyRead(check, check.program.storage(storage))) {
    check.Fail(check.program.name(), "storage {0} is written in memory that is only read", storage);
  }
  if (CheckFallbackWorkspace(check, storage, begin, end)) return;
  if (writer_count > 1) SortKeys(writers, writer_count, LessByOffset, &check.program);
  for (size_t i = begin; i < readers; ++i) {
    if (end - begin > 1 && IsWorkspace(check, check.accesses[i])) {
      check.Fail(NameOf(check, OpOf(check.accesses[i])), "its workspace is used elsewhere too");
    }
  }
  WritersConditions conditions;
  for (size_t i = begin; i < readers; ++i) conditions.Add(check, check.accesses[i]);
  const uint64_t bytes = CheckWriters(check, writers, writer_count);
  const bool whole = bytes == check.program.storage(storage).bytes;
  for (size_t i = readers; i < end && !check.reporter.stopped(); ++i) {
    const Access reader = check.accesses[i];
    conditions.CheckReader(check, reader);
    CheckCondition(check, reader, writers, writer_count);
    if (whole && IsAfter(check, OpOf(reader), written)) continue;
    if (!IsWritten(check, reader, writers, writer_count)) {
      check.Fail(NameOf(check, OpOf(reader)), "reads tensor {0} before all of it is written",
                 TensorOf(reader));
    }
  }
}

}  // namespace

void CheckStorages(ProgramCheck& check) {
  ListAccesses(check);
  for (size_t s = 0; s < check.storages && !check.reporter.stopped(); ++s) CheckStorage(check, s);
}

}  // namespace tenon::plan_check

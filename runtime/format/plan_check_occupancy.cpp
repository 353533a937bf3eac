// Plan check, part 4: storages that share bytes of an arena take turns.
//
// Storages are ranked by when they are first written, in one order that keeps all waits. A sweep
// over the addresses keeps the ranks of those that cover the current byte. For every byte, each
// covering storage must be done before the next in rank begins. Since "done before" is transitive,
// it is enough to compare a storage with its neighbours in rank where it begins: O(n log n).
//
// Where a storage is written while parts of another are alive on the same bytes, they may still
// take turns at each byte. That is not transitive: then every storage is compared with all that
// cover the byte where it begins, use by use, within the budget. A device gets and gives whole
// storages, so that what it uses takes turns as a whole.
#include "runtime/format/plan_check_workers.hpp"
#include "runtime/format/rank_set.hpp"
#include "runtime/format/region.hpp"

namespace tenon::plan_check {
namespace {

// An event of the sweep: a storage begins (1) or ends (0) at an address.
constexpr uint64_t kBegins = 1;
uint32_t StorageAt(uint64_t event) { return static_cast<uint32_t>(event >> 1); }

bool LessByValue(const void* /*context*/, uint64_t a, uint64_t b) { return a < b; }

/// By arena, then address; at one address, what ends leaves before what begins comes.
bool LessByAddress(const void* context, uint64_t a, uint64_t b) {
  const auto& program = *static_cast<const ProgramView*>(context);
  const StorageInfo in_a = program.storage(StorageAt(a));
  const StorageInfo in_b = program.storage(StorageAt(b));
  if (in_a.index != in_b.index) return in_a.index < in_b.index;
  const uint64_t at_a = in_a.offset + ((a & kBegins) != 0 ? 0 : in_a.bytes);
  const uint64_t at_b = in_b.offset + ((b & kBegins) != 0 ? 0 : in_b.bytes);
  if (at_a != at_b) return at_a < at_b;
  return (a & kBegins) < (b & kBegins);
}

/// InPlaceOp, as far as fall-back kernels go: what a segment has not made itself must still be
/// there if it is run again.
uint32_t TakeOver(const ProgramCheck& check, uint32_t before, uint32_t after, Access writer) {
  const uint32_t op = InPlaceOp(check, before, after, writer);
  const bool stays =
      op != kPortOp && check.HasFallback(op) && check.writer_segment[before] != check.segment[op];
  return stays ? kPortOp : op;
}

/// True if all uses of storage `before` are done before anything writes `after`, but for an op that
/// takes its memory over.
bool IsDoneBefore(const ProgramCheck& check, uint32_t before, uint32_t after) {
  const uint32_t* last = check.last_clock + before * check.workers;
  const uint32_t* first = check.first_clock + after * check.workers;
  const uint32_t writer = check.access_begin[after];
  const bool is_only = check.reader_begin[after] - writer == 1;
  const uint32_t op = is_only ? TakeOver(check, before, after, check.accesses[writer]) : kPortOp;
  for (size_t v = 0; v < check.workers; ++v) {
    // The op that works in place is itself the last to use what it takes over.
    const uint32_t limit = op != kPortOp && check.worker[op] == v ? first[v] + 1 : first[v];
    if (last[v] > limit) return false;
  }
  return true;
}

/// Region of a tensor, from the beginning of its arena.
Region RegionInArena(const ProgramCheck& check, uint32_t tensor) {
  Region region = MakeRegion(check.program.tensor(tensor));
  const uint64_t offset = check.StorageOf(tensor).offset;
  region.offset += offset;
  region.end += offset;
  return region;
}

/// True if `use` of storage `before`, which `reads` it or not, is done before `writer` begins to
/// write `after`, or is what `writer` takes over. Neither is of a device.
bool IsDoneBefore(const ProgramCheck& check, uint32_t before, uint32_t after, Access use,
                  bool reads, Access writer) {
  if (OpOf(writer) == kPortOp) return false;
  if (OpOf(use) == kPortOp) return !reads;
  return check.HappensBefore(OpOf(use), OpOf(writer)) ||
         (reads && OpOf(use) == OpOf(writer) &&
          InPlaceOp(check, before, after, writer) == OpOf(writer));
}

/// True if an op of a device uses the storage, or if the budget is out.
bool IsOnDevice(ProgramCheck& check, uint32_t storage) {
  for (size_t i = check.access_begin[storage]; i < check.access_begin[storage + 1]; ++i) {
    if (!check.Spend()) return true;
    const uint32_t op = OpOf(check.accesses[i]);
    if (op != kPortOp && !check.IsOnCpu(check.program.segment(check.segment[op]))) return true;
  }
  return false;
}

/// True if, of each byte that both storages have, all uses of `before` are done before `after` is
/// written.
bool TakesTurnsAtBytes(ProgramCheck& check, uint32_t before, uint32_t after) {
  for (size_t i = check.access_begin[before]; i < check.access_begin[before + 1]; ++i) {
    const Access use = check.accesses[i];
    const bool reads = i >= check.reader_begin[before];
    for (size_t k = check.access_begin[after]; k < check.reader_begin[after]; ++k) {
      const Access writer = check.accesses[k];
      if (!check.Spend()) return false;
      if (!IsDoneBefore(check, before, after, use, reads, writer) &&
          CommonBytes(check, RegionInArena(check, TensorOf(use)),
                      RegionInArena(check, TensorOf(writer))) != 0) {
        return false;
      }
    }
  }
  return true;
}

/// Storage `before` is written first.
void CheckTurn(ProgramCheck& check, uint32_t before, uint32_t after) {
  if (IsDoneBefore(check, before, after)) return;
  if (!IsOnDevice(check, before) && !IsOnDevice(check, after) &&
      (TakesTurnsAtBytes(check, before, after) || TakesTurnsAtBytes(check, after, before))) {
    return;
  }
  const Access writer = check.accesses[check.access_begin[after]];
  check.Fail(check.program.tensor(TensorOf(writer)).name,
             "storage {0} is written while storage {1} is alive on the same bytes", after, before);
}

/// Ranks the storages that are written, from 1, and lists their ends. Returns the number of keys.
size_t RankStorages(ProgramCheck& check) {
  size_t count = 0;
  for (uint32_t s = 0; s < check.storages; ++s) {
    if (check.access_begin[s] == check.reader_begin[s] || check.program.storage(s).bytes == 0) {
      continue;
    }
    uint32_t first = UINT32_MAX;
    for (size_t i = check.access_begin[s]; i < check.reader_begin[s]; ++i) {
      const uint32_t op = OpOf(check.accesses[i]);
      const uint32_t position = op == kPortOp ? 0 : check.position[op];
      if (position < first) first = position;
    }
    check.keys[count++] = uint64_t{first} << 32 | s;
  }
  SortKeys(check.keys, count, LessByValue, nullptr);
  for (size_t i = 0; i < count; ++i) {
    check.rank[static_cast<uint32_t>(check.keys[i])] = static_cast<uint32_t>(i + 1);
  }
  return count;
}

/// Sweeps over the events in check.keys. Returns false if some storage is not done before the next
/// in rank begins; if `thorough`, compares all that share bytes, and reports those that do not take
/// turns.
bool Sweep(ProgramCheck& check, size_t events, bool thorough) {
  // The ranks that cover the current byte, as a ring through rank 0.
  const uint32_t* const storage_of = check.by_rank;
  RankSet covering(check.rank_bits, check.storages + 1);
  covering.Insert(0);
  check.next[0] = 0;
  check.previous[0] = 0;
  for (size_t i = 0; i < events && !check.reporter.stopped(); ++i) {
    const uint32_t storage = StorageAt(check.keys[i]);
    const uint32_t rank = check.rank[storage];
    if ((check.keys[i] & kBegins) == 0) {
      covering.Remove(rank);
      check.next[check.previous[rank]] = check.next[rank];
      check.previous[check.next[rank]] = check.previous[rank];
      continue;
    }
    const auto below = static_cast<uint32_t>(covering.Previous(rank));
    const uint32_t above = check.next[below];
    covering.Insert(rank);
    check.next[rank] = above;
    check.previous[rank] = below;
    check.next[below] = rank;
    check.previous[above] = rank;
    if (thorough) {
      for (uint32_t r = below; r != 0 && check.Spend(); r = check.previous[r]) {
        CheckTurn(check, storage_of[r], storage);
      }
      for (uint32_t r = above; r != 0 && check.Spend(); r = check.next[r]) {
        CheckTurn(check, storage, storage_of[r]);
      }
    } else if ((below != 0 && !IsDoneBefore(check, storage_of[below], storage)) ||
               (above != 0 && !IsDoneBefore(check, storage, storage_of[above]))) {
      return false;
    }
  }
  return true;
}

}  // namespace

void CheckOccupancy(ProgramCheck& check) {
  const size_t count = RankStorages(check);
  uint32_t* const storage_of = check.by_rank;
  for (size_t i = 0; i < count; ++i) {
    storage_of[i + 1] = static_cast<uint32_t>(check.keys[i]);
  }
  for (size_t i = 0; i < count; ++i) {
    check.keys[2 * i] = uint64_t{storage_of[i + 1]} << 1;
    check.keys[2 * i + 1] = check.keys[2 * i] | kBegins;
  }
  SortKeys(check.keys, 2 * count, LessByAddress, &check.program);
  if (!Sweep(check, 2 * count, /*thorough=*/false)) Sweep(check, 2 * count, /*thorough=*/true);
}

}  // namespace tenon::plan_check

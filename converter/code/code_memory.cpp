#include "converter/code/code_memory.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "converter/code/segment_source.hpp"

namespace tenon::converter {
namespace {

struct Stretch {
  int64_t begin = 0;
  int64_t end = 0;
};

/// Stretches in order, those that meet as one.
std::vector<Stretch> Merged(std::vector<Stretch> stretches) {
  std::sort(stretches.begin(), stretches.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  std::vector<Stretch> merged;
  for (const Stretch& next : stretches) {
    if (merged.empty() || next.begin > merged.back().end) {
      merged.push_back(next);
    } else {
      merged.back().end = std::max(merged.back().end, next.end);
    }
  }
  return merged;
}

/// One arena of a plan, of which storages have left.
class Closer {
 public:
  Closer(int32_t index, ArenaPlan& plan) : plan_(plan) {
    for (PlannedStorage& storage : plan.storages) {
      if (!storage.on_chip && storage.arena == index) mine_.push_back(&storage);
    }
  }

  /// Moves what is left down, and returns the bytes that it takes then, at least 1.
  int64_t CloseGaps() {
    std::vector<Stretch> all;
    for (const PlannedStorage* storage : mine_) {
      all.push_back({storage->offset, storage->offset + PaddedBytes(BytesOf(*storage))});
    }
    const std::vector<Stretch> taken = Merged(std::move(all));
    int64_t bytes = 1;
    for (PlannedStorage* storage : mine_) {
      int64_t free = 0;
      int64_t end = 0;
      for (const Stretch& stretch : taken) {
        if (stretch.begin > storage->offset) break;
        free += stretch.begin - end;
        end = stretch.end;
      }
      storage->offset -= free;
      bytes = std::max(bytes, storage->offset + BytesOf(*storage));
    }
    return bytes;
  }

  /// The most bytes that are alive in a step.
  [[nodiscard]] int64_t LowerBound() const {
    int64_t most = 0;
    for (int64_t step = 0; step < std::max<int64_t>(std::ssize(plan_.steps), 1); ++step) {
      std::vector<Stretch> alive;
      for (const PlannedStorage* storage : mine_) {
        if (storage->first_step > step || step > storage->last_step) continue;
        alive.push_back({storage->offset, storage->offset + PaddedBytes(storage->bytes)});
      }
      int64_t sum = 0;
      for (const Stretch& stretch : Merged(std::move(alive))) sum += stretch.end - stretch.begin;
      most = std::max(most, sum);
    }
    return most;
  }

 private:
  static int64_t BytesOf(const PlannedStorage& storage) {
    return std::max<int64_t>(storage.bytes, 1);
  }

  ArenaPlan& plan_;
  std::vector<PlannedStorage*> mine_;
};

bool HasFallback(const Graph& graph, const std::vector<OpId>& ops) {
  return std::any_of(ops.begin(), ops.end(),
                     [&](OpId id) { return !graph.op(id).fallback_kernel.empty(); });
}

/// Returns true if there are such storages.
bool MarkOnChip(const std::string& backend, const ProgramToEmit& program, ArenaPlan& arena) {
  std::map<TensorId, PlannedStorage*> storage_of_root;
  for (PlannedStorage& storage : arena.storages) storage_of_root[storage.root] = &storage;
  bool any = false;
  for (const std::vector<OpId>& ops : SegmentsOf(program)) {
    if (program.graph->op(ops.front()).backend != backend || HasFallback(*program.graph, ops)) {
      continue;
    }
    const TracedSource traced = SourceOf(*program.graph, *program.locations, ops);
    for (size_t i = 0; i < traced.roots.size(); ++i) {
      const fpga::SourceBlock& block = traced.source.blocks[i];
      const auto found = storage_of_root.find(traced.roots[i]);
      if (block.is_read || block.is_written || found == storage_of_root.end()) continue;
      found->second->on_chip = any = true;
    }
    for (const OpId id : ops) {
      if (static_cast<size_t>(id) < arena.in_place.size()) {
        arena.in_place[static_cast<size_t>(id)] = -1;
      }
    }
  }
  return any;
}

/// The worker that runs an op.
size_t WorkerOf(const ProgramToEmit& program, OpId op) {
  if (program.schedule == nullptr) return 0;
  const auto& workers = program.schedule->workers;
  for (size_t w = 0; w < workers.size(); ++w) {
    for (const ScheduledStep& step : workers[w]) {
      if (step.op == op) return w;
    }
  }
  return 0;
}

/// A plan without a list of arenas has one.
void ListArenas(ArenaPlan& arena) {
  if (!arena.arenas.empty()) return;
  arena.arenas.push_back({"", arena.bytes, arena.lower_bound, arena.proven_optimal});
}

void Count(ArenaPlan& arena, const PlannedArena& before, const PlannedArena& after) {
  arena.bytes += after.bytes - before.bytes;
  arena.lower_bound += after.lower_bound - before.lower_bound;
  arena.proven_optimal = arena.bytes == arena.lower_bound;
}

}  // namespace

void KeepOnChip(const Board& board, const ProgramToEmit& program, ArenaPlan& arena) {
  const Unit* unit = AcceleratorUnit(board);
  if (unit == nullptr || !MarkOnChip(unit->backend, program, arena)) return;
  ListArenas(arena);
  for (size_t i = 0; i < arena.arenas.size(); ++i) {
    PlannedArena& one = arena.arenas[i];
    const auto index = static_cast<int32_t>(i);
    const bool has_left = std::any_of(
        arena.storages.begin(), arena.storages.end(),
        [&](const PlannedStorage& storage) { return storage.on_chip && storage.arena == index; });
    if (!has_left || one.slots > 1) continue;
    const PlannedArena before = one;
    Closer closer(index, arena);
    one.bytes = closer.CloseGaps();
    one.lower_bound = std::min(closer.LowerBound(), one.bytes);
    one.proven_optimal = one.bytes == one.lower_bound;
    Count(arena, before, one);
  }
}

void AddScratch(const ProgramToEmit& program, ArenaPlan& arena) {
  std::map<OpId, int64_t> step_of;
  for (const OpId id : arena.steps) step_of[id] = static_cast<int64_t>(step_of.size());
  std::map<size_t, int32_t> arena_of_worker;
  for (const DeviceCode& code : program.code) {
    if (code.scratch_bytes == 0) continue;
    ListArenas(arena);
    const OpId first = code.ops.front();
    const auto [entry, is_new] = arena_of_worker.try_emplace(
        WorkerOf(program, first), static_cast<int32_t>(arena.arenas.size()));
    if (is_new) arena.arenas.push_back({"", 0, 0, true});
    PlannedArena& one = arena.arenas[static_cast<size_t>(entry->second)];
    const PlannedArena before = one;
    one.bytes = one.lower_bound = std::max(one.bytes, code.scratch_bytes);
    Count(arena, before, one);
    PlannedStorage storage;
    storage.workspace_of = first;
    storage.bytes = code.scratch_bytes;
    storage.arena = entry->second;
    storage.first_step = step_of.at(first);
    storage.last_step = storage.first_step + static_cast<int64_t>(code.ops.size()) - 1;
    arena.storages.push_back(std::move(storage));
  }
}

}  // namespace tenon::converter

#include "converter/layout/grow_workspaces.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "converter/layout/storage_parts.hpp"
#include "converter/map/backends.hpp"

namespace tenon::converter {
namespace {

int64_t WantedBytes(const Graph& graph, const Op& op) {
  if (op.caps == nullptr) return 0;
  const KernelCaps& caps = CapsOf(op);
  if (caps.least_workspace_bytes == nullptr || caps.workspace_bytes == nullptr) return 0;
  const OpCallView view(graph, op);
  return static_cast<int64_t>(caps.workspace_bytes(view.call(), 1));
}

int64_t ArenaBytes(const ArenaPlan& arena, int32_t index) {
  return arena.arenas.empty() ? arena.bytes : arena.arenas[static_cast<size_t>(index)].bytes;
}

using Parts = std::vector<std::vector<StoragePart>>;
using Ranges = std::vector<std::pair<int64_t, int64_t>>;

/// Adds the ranges of a storage's arena that a workspace at `step` must leave alone. Storages take
/// turns at their bytes one way round: it may lie either on what has been used for the last time or
/// on what has yet to be written.
void AddTaken(const PlannedStorage& storage, const std::vector<StoragePart>& parts, int64_t step,
              Ranges& taken) {
  const bool has_unwritten =
      std::any_of(parts.begin(), parts.end(),
                  [step](const StoragePart& part) { return part.first_step > step; });
  for (const StoragePart& part : parts) {
    const bool is_free = has_unwritten ? part.first_step > step : part.last_step < step;
    if (!is_free) taken.emplace_back(storage.offset + part.begin, storage.offset + part.end);
  }
}

struct Gap {
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// Returns the ranges of the workspace's arena, ascending, that others take during its only step.
Ranges TakenBeside(const ArenaPlan& arena, const Parts& parts, const PlannedStorage& workspace) {
  Ranges taken;
  for (size_t i = 0; i < arena.storages.size(); ++i) {
    const PlannedStorage& storage = arena.storages[i];
    if (storage.workspace_of == workspace.workspace_of || storage.arena != workspace.arena ||
        storage.last_step < workspace.first_step || storage.first_step > workspace.last_step) {
      continue;
    }
    if (i < parts.size() && parts[i].size() > 1) {
      AddTaken(storage, parts[i], workspace.first_step, taken);
    } else {
      taken.emplace_back(storage.offset, storage.offset + storage.bytes);
    }
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

/// Returns the largest piece of the workspace's arena, of which `end` bytes may be used, that is
/// free during its only step, where its own bytes count as free; of equal ones the first.
Gap LargestGap(const ArenaPlan& arena, const Parts& parts, const PlannedStorage& workspace,
               int64_t end) {
  Ranges taken = TakenBeside(arena, parts, workspace);
  taken.emplace_back(end, end);
  Gap largest = {workspace.offset, workspace.bytes};
  int64_t free_from = 0;
  for (const auto& [begin, stop] : taken) {
    if (std::min(begin, end) - free_from > largest.bytes) {
      largest = {free_from, std::min(begin, end) - free_from};
    }
    free_from = std::max(free_from, PaddedBytes(stop));
  }
  return largest;
}

}  // namespace

int64_t GrowWorkspaces(Graph& graph, const Locations& locations, ArenaPlan& arena,
                       const WorkspaceRoom& room) {
  // Without parts storages are alive whole.
  const Parts parts = room.over_parts ? PartsOf(graph, locations, arena) : Parts();
  std::unordered_map<OpId, size_t> storages;
  for (size_t i = 0; i < arena.storages.size(); ++i) {
    if (arena.storages[i].workspace_of != kNone) storages[arena.storages[i].workspace_of] = i;
  }
  int64_t grown = 0;
  for (size_t step = 0; step < arena.steps.size(); ++step) {
    const OpId id = arena.steps[step];
    const int64_t wanted = WantedBytes(graph, graph.op(id));
    const auto found = storages.find(id);
    PlannedStorage storage;
    storage.workspace_of = id;
    storage.first_step = storage.last_step = static_cast<int64_t>(step);
    if (found != storages.end()) storage = arena.storages[found->second];
    if (wanted <= storage.bytes) continue;
    const int64_t end = ArenaBytes(arena, storage.arena);
    Gap gap = LargestGap(arena, parts, storage, end);
    if (gap.bytes < wanted && room.most_bytes > end && arena.arenas.empty()) {
      const int64_t most = room.most_bytes / kStorageAlignment * kStorageAlignment;
      gap = LargestGap(arena, parts, storage, most);
    }
    // Kernels that can run without a workspace are faster only with all of it.
    if (gap.bytes <= storage.bytes || (storage.bytes == 0 && gap.bytes < wanted)) continue;
    storage.offset = gap.offset;
    storage.bytes = std::min(wanted, gap.bytes);
    graph.MutableOp(id).workspace_bytes = storage.bytes;
    if (arena.arenas.empty()) {
      arena.bytes = std::max(arena.bytes, storage.offset + storage.bytes);
    }
    if (found != storages.end()) {
      arena.storages[found->second] = storage;
    } else {
      arena.storages.push_back(storage);
    }
    ++grown;
  }
  return grown;
}

std::vector<CrampedWorkspace> FindCrampedWorkspaces(const Graph& graph, const Locations& locations,
                                                    const ArenaPlan& arena,
                                                    const WorkspaceRoom& room) {
  std::vector<CrampedWorkspace> cramped;
  if (!arena.arenas.empty()) return cramped;
  const Parts parts = room.over_parts ? PartsOf(graph, locations, arena) : Parts();
  const int64_t end =
      std::max(arena.bytes, room.most_bytes) / kStorageAlignment * kStorageAlignment;
  for (size_t step = 0; step < arena.steps.size(); ++step) {
    const OpId id = arena.steps[step];
    const Op& op = graph.op(id);
    const int64_t wanted = WantedBytes(graph, op);
    if (wanted <= op.workspace_bytes) continue;
    PlannedStorage storage;
    storage.workspace_of = id;
    storage.first_step = storage.last_step = static_cast<int64_t>(step);
    int64_t free = end;
    int64_t taken_to = 0;
    for (const auto& [begin, stop] : TakenBeside(arena, parts, storage)) {
      const int64_t from = std::max(begin, taken_to);
      taken_to = std::max(taken_to, PaddedBytes(stop));
      free -= std::max<int64_t>(taken_to - from, 0);
    }
    const int64_t bytes = std::min(wanted, free);
    if (bytes > op.workspace_bytes) cramped.push_back({id, bytes});
  }
  return cramped;
}

int64_t PlaceWorkspacesOverParts(const Graph& graph, const Locations& locations, ArenaPlan& arena) {
  const Parts parts = PartsOf(graph, locations, arena);
  int64_t bytes = 0;
  for (PlannedStorage& workspace : arena.storages) {
    if (workspace.workspace_of == kNone) continue;
    workspace.offset = 0;
    for (const auto& [begin, stop] : TakenBeside(arena, parts, workspace)) {
      if (begin - workspace.offset >= workspace.bytes) break;
      workspace.offset = std::max(workspace.offset, PaddedBytes(stop));
    }
    bytes = std::max(bytes, workspace.offset + workspace.bytes);
  }
  return bytes;
}

}  // namespace tenon::converter

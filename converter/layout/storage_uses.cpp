#include "converter/layout/storage_uses.hpp"

#include <algorithm>
#include <unordered_map>

#include "converter/layout/assign_locations.hpp"

namespace tenon::converter {
namespace {

/// Returns how many bytes lie below the ends of these storages and not below their beginnings.
int64_t BytesOfUnion(std::vector<const PlannedStorage*>& storages, int64_t alignment) {
  std::sort(storages.begin(), storages.end(), [](const PlannedStorage* a, const PlannedStorage* b) {
    return a->arena != b->arena ? a->arena < b->arena : a->offset < b->offset;
  });
  int64_t bytes = 0;
  int64_t end = 0;
  int32_t arena = -1;
  for (const PlannedStorage* storage : storages) {
    if (storage->arena != arena) end = 0;
    arena = storage->arena;
    const int64_t own_end = storage->offset + RoundUp(storage->bytes, alignment);
    bytes += std::max<int64_t>(own_end - std::max(storage->offset, end), 0);
    end = std::max(end, own_end);
  }
  return bytes;
}

}  // namespace

std::vector<std::vector<StorageUse>> UsesOf(const Graph& graph, const Locations& locations,
                                            const ArenaPlan& plan) {
  std::unordered_map<TensorId, size_t> storage_of;
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    if (plan.storages[i].root != kNone) storage_of[plan.storages[i].root] = i;
  }
  std::vector<std::vector<StorageUse>> uses(plan.storages.size());
  const auto note = [&](TensorId id, size_t step, bool writes) {
    if (id == kNone) return;
    const auto found = storage_of.find(locations.at(id).root);
    if (found == storage_of.end()) return;
    uses[found->second].push_back({static_cast<int64_t>(step), locations.at(id).offset,
                                   EndInRoot(graph, locations, id), writes});
  };
  for (size_t step = 0; step < plan.steps.size(); ++step) {
    const Op& op = graph.op(plan.steps[step]);
    for (const TensorId id : op.inputs) note(id, step, /*writes=*/false);
    for (const TensorId id : op.outputs) note(id, step, /*writes=*/true);
  }
  return uses;
}

std::vector<int64_t> TakenBytes(const ArenaPlan& plan, int64_t alignment,
                                const std::function<bool(const PlannedStorage& storage)>& counts) {
  std::vector<std::vector<const PlannedStorage*>> begins(plan.steps.size());
  for (const PlannedStorage& storage : plan.storages) {
    const auto first = static_cast<size_t>(storage.first_step);
    if (first < begins.size() && counts(storage)) begins[first].push_back(&storage);
  }
  std::vector<int64_t> taken(plan.steps.size(), 0);
  std::vector<const PlannedStorage*> alive;
  for (size_t step = 0; step < plan.steps.size(); ++step) {
    std::erase_if(alive, [step](const PlannedStorage* storage) {
      return storage->last_step < static_cast<int64_t>(step);
    });
    alive.insert(alive.end(), begins[step].begin(), begins[step].end());
    taken[step] = BytesOfUnion(alive, alignment);
  }
  return taken;
}

}  // namespace tenon::converter

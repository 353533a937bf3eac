#include "converter/layout/storage_chains.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace tenon::converter {

StorageChains::StorageChains(const Graph& graph, const Locations& locations, ArenaPlan& plan)
    : graph_(graph), locations_(locations), plan_(plan) {
  OpId last = kNone;
  for (const OpId id : graph.OpOrder()) last = std::max(last, id);
  plan.in_place.assign(static_cast<size_t>(last + 1), -1);
}

void StorageChains::SetGroups(const std::vector<std::vector<OpId>>& groups) {
  plan_.groups = groups;
  if (groups.empty()) return;
  std::unordered_map<OpId, int64_t> step_of;
  for (const OpId id : plan_.steps) {
    const auto step = static_cast<int64_t>(spans_.size());
    step_of[id] = step;
    spans_.emplace_back(step, step);
  }
  for (const std::vector<OpId>& group : groups) {
    const int64_t first = step_of.at(group.front());
    const int64_t last = step_of.at(group.back());
    for (int64_t step = first; step <= last; ++step) {
      spans_[static_cast<size_t>(step)] = {first, last};
    }
  }
}

size_t StorageChains::Add(PlannedStorage storage) {
  const size_t index = plan_.storages.size();
  first_of_chain_.push_back(index);
  plan_.storages.push_back(std::move(storage));
  return index;
}

size_t StorageChains::AddRoot(TensorId root) {
  PlannedStorage storage;
  storage.root = root;
  storage.bytes = graph_.tensor(root).ByteSize();
  storage.first_step = INT64_MAX;
  storage.last_step = -1;
  return Add(std::move(storage));
}

size_t StorageChains::AddWorkspace(int64_t step) {
  const OpId id = plan_.steps[static_cast<size_t>(step)];
  PlannedStorage storage;
  storage.workspace_of = id;
  storage.bytes = graph_.op(id).workspace_bytes;
  std::tie(storage.first_step, storage.last_step) = SpanOf(step);
  return storage.bytes > 0 ? Add(std::move(storage)) : kNoStorage;
}

void StorageChains::Touch(size_t storage, int64_t step) {
  PlannedStorage& planned = plan_.storages[storage];
  const auto [first, last] = SpanOf(step);
  planned.first_step = std::min(planned.first_step, first);
  planned.last_step = std::max(planned.last_step, last);
}

void StorageChains::HandOver(int64_t step, const std::function<size_t(TensorId tensor)>& storage_of,
                             const std::function<bool(size_t from, size_t to)>& may) {
  const OpId id = plan_.steps[static_cast<size_t>(step)];
  const auto [first, last] = SpanOf(step);
  if (first != last) return;
  const Op& op = graph_.op(id);
  for (const size_t input : HandOverInputs(graph_, locations_, op)) {
    const size_t from = storage_of(op.inputs[input]);
    const size_t to = storage_of(op.outputs[0]);
    if (from == kNoStorage || to == kNoStorage || (may && !may(from, to)) ||
        plan_.storages[from].last_step != step || plan_.storages[to].first_step != step) {
      continue;
    }
    first_of_chain_[to] = first_of_chain_[from];
    plan_.in_place[static_cast<size_t>(id)] = static_cast<int>(input);
    return;
  }
}

Placement StorageChains::Place(const std::vector<size_t>& storages, const PlaceOptions& options) {
  std::vector<size_t> buffer_of_chain(plan_.storages.size(), kNoStorage);
  std::vector<Buffer> buffers;
  for (const size_t index : storages) {
    const PlannedStorage& storage = plan_.storages[index];
    size_t& of_chain = buffer_of_chain[first_of_chain_[index]];
    if (of_chain == kNoStorage) {
      of_chain = buffers.size();
      buffers.push_back({storage.first_step, storage.last_step + 1, storage.bytes,
                         kStorageAlignment, std::nullopt});
      continue;
    }
    Buffer& buffer = buffers[of_chain];
    buffer.lower = std::min(buffer.lower, storage.first_step);
    buffer.upper = std::max(buffer.upper, storage.last_step + 1);
    buffer.size = std::max(buffer.size, storage.bytes);
  }
  const Placement placement = PlaceBuffers(buffers, options);
  for (const size_t index : storages) {
    plan_.storages[index].offset = placement.offsets[buffer_of_chain[first_of_chain_[index]]];
  }
  plan_.place_work += placement.work;
  return placement;
}

}  // namespace tenon::converter

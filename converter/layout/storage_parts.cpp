#include "converter/layout/storage_parts.hpp"

#include <algorithm>

#include "converter/layout/storage_uses.hpp"
#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {
namespace {

/// Returns the places at which parts of a storage may begin or end, ascending.
std::vector<int64_t> PlacesOf(const PlannedStorage& storage, const std::vector<StorageUse>& uses) {
  std::vector<int64_t> places = {0, storage.bytes};
  for (const StorageUse& use : uses) {
    for (const int64_t place : {use.begin, use.end}) {
      if (place > 0 && place < storage.bytes) places.push_back(place);
    }
  }
  SortAndUnique(places);
  return places;
}

/// Returns the parts of a storage. Of an output of the graph all of them are needed to its end.
std::vector<StoragePart> PartsOf(const PlannedStorage& storage, const std::vector<StorageUse>& uses,
                                 bool is_output) {
  const std::vector<int64_t> places = PlacesOf(storage, uses);
  std::vector<StoragePart> parts;
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    parts.push_back({places[i], places[i + 1], INT64_MAX, is_output ? storage.last_step : -1});
  }
  for (const StorageUse& use : uses) {
    const auto first = std::lower_bound(places.begin(), places.end(), use.begin) - places.begin();
    for (auto i = static_cast<size_t>(first); i < parts.size() && parts[i].begin < use.end; ++i) {
      if (use.writes) parts[i].first_step = std::min(parts[i].first_step, use.step);
      parts[i].last_step = std::max(parts[i].last_step, use.step);
    }
  }
  std::vector<StoragePart> merged;
  for (StoragePart& part : parts) {
    // What no op writes is an input, which is there from the beginning on.
    if (part.first_step == INT64_MAX) part.first_step = storage.first_step;
    if (part.last_step < 0) part.last_step = storage.last_step;
    if (!merged.empty() && merged.back().first_step == part.first_step &&
        merged.back().last_step == part.last_step) {
      merged.back().end = part.end;
    } else {
      merged.push_back(part);
    }
  }
  return merged;
}

}  // namespace

std::vector<std::vector<StoragePart>> PartsOf(const Graph& graph, const Locations& locations,
                                              const ArenaPlan& plan) {
  std::vector<std::vector<StoragePart>> parts;
  std::vector<std::vector<StorageUse>> uses;
  if (graph.states.empty() && plan.groups.empty()) uses = UsesOf(graph, locations, plan);
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const PlannedStorage& storage = plan.storages[i];
    if (i < uses.size() && !uses[i].empty()) {
      const bool is_output = std::any_of(
          graph.outputs().begin(), graph.outputs().end(),
          [&](const Graph::Port& port) { return locations.at(port.tensor).root == storage.root; });
      parts.push_back(PartsOf(storage, uses[i], is_output));
    } else {
      parts.push_back({{0, storage.bytes, storage.first_step, storage.last_step}});
    }
  }
  return parts;
}

}  // namespace tenon::converter

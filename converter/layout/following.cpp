#include "converter/layout/following.hpp"

#include <algorithm>

#include "converter/layout/assign_locations.hpp"

namespace tenon::converter {
namespace {

/// Bytes of a storage that an op reads or writes.
struct Use {
  int64_t step = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

struct Uses {
  std::vector<Use> all;  ///< by step
  std::vector<Use> writes;
};

class Finder {
 public:
  Finder(const Graph& graph, const Locations& locations, const ArenaPlan& plan,
         const std::function<size_t(TensorId tensor)>& storage_of)
      : graph_(graph), locations_(locations), plan_(plan), uses_(plan.storages.size()) {
    const auto note = [&](TensorId id, size_t step, bool writes) {
      if (id == kNone || graph.tensor(locations.at(id).root).IsConstant()) return;
      const size_t storage = storage_of(id);
      if (storage == SIZE_MAX) return;
      const Use use = {static_cast<int64_t>(step), locations.at(id).offset,
                       EndInRoot(graph, locations, id)};
      uses_[storage].all.push_back(use);
      if (writes) uses_[storage].writes.push_back(use);
    };
    for (size_t step = 0; step < plan.steps.size(); ++step) {
      const Op& op = graph.op(plan.steps[step]);
      for (const TensorId id : op.inputs) note(id, step, /*writes=*/false);
      for (const TensorId id : op.outputs) note(id, step, /*writes=*/true);
    }
  }

  std::vector<Following> Run() const {
    std::vector<Following> found;
    std::vector<size_t> targets;
    for (size_t s = 0; s < uses_.size(); ++s) {
      if (uses_[s].writes.size() > 1 && !IsPort(s, graph_.inputs())) targets.push_back(s);
    }
    for (size_t s = 0; s < uses_.size(); ++s) {
      if (uses_[s].all.size() < 2 || IsPort(s, graph_.outputs())) continue;
      for (const size_t target : targets) {
        if (!IsAliveBefore(s, target)) continue;
        const Following pair = {s, target, LeastDistance(s, target)};
        if (Saved(pair) > 0) found.push_back(pair);
      }
    }
    std::stable_sort(found.begin(), found.end(), [this](const Following& a, const Following& b) {
      return Saved(a) > Saved(b);
    });
    return found;
  }

 private:
  [[nodiscard]] const PlannedStorage& At(size_t storage) const { return plan_.storages[storage]; }

  [[nodiscard]] bool IsPort(size_t storage, const std::vector<Graph::Port>& ports) const {
    return std::any_of(ports.begin(), ports.end(), [&](const Graph::Port& port) {
      return locations_.at(port.tensor).root == At(storage).root;
    });
  }

  /// True if both are alive for a while, and the source neither begins after the target nor
  /// outlives it.
  [[nodiscard]] bool IsAliveBefore(size_t source, size_t target) const {
    return source != target && At(source).first_step <= At(target).first_step &&
           At(target).first_step <= At(source).last_step &&
           At(source).last_step < At(target).last_step;
  }

  [[nodiscard]] int64_t Saved(const Following& pair) const {
    const int64_t source = PaddedBytes(At(pair.source).bytes);
    const int64_t target = PaddedBytes(At(pair.target).bytes);
    return source + target - std::max(std::max<int64_t>(pair.distance, 0) + source, target);
  }

  /// Returns by how many bytes the source must at least begin behind the target: so that what is
  /// written ends, each time, before what is still used. May be below 0.
  [[nodiscard]] int64_t LeastDistance(size_t source, size_t target) const {
    const std::vector<Use>& used = uses_[source].all;
    std::vector<int64_t> begins(used.size() + 1, INT64_MAX);  // of what is used from here on
    for (size_t i = used.size(); i-- > 0;) begins[i] = std::min(begins[i + 1], used[i].begin);
    int64_t distance = -At(target).bytes;
    size_t next = 0;
    for (const Use& write : uses_[target].writes) {
      while (next < used.size() && used[next].step < write.step) ++next;
      if (next == used.size()) break;
      distance = std::max(distance, write.end - begins[next]);
    }
    return distance > 0 ? PaddedBytes(distance) : distance / kStorageAlignment * kStorageAlignment;
  }

  const Graph& graph_;
  const Locations& locations_;
  const ArenaPlan& plan_;
  std::vector<Uses> uses_;  ///< by storage
};

}  // namespace

std::vector<Following> FindFollowing(const Graph& graph, const Locations& locations,
                                     const ArenaPlan& plan,
                                     const std::function<size_t(TensorId tensor)>& storage_of) {
  if (!graph.states.empty()) return {};
  return Finder(graph, locations, plan, storage_of).Run();
}

}  // namespace tenon::converter

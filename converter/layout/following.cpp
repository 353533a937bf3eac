#include "converter/layout/following.hpp"

#include <algorithm>

#include "converter/layout/storage_uses.hpp"

namespace tenon::converter {
namespace {

class Finder {
 public:
  Finder(const Graph& graph, const Locations& locations, const ArenaPlan& plan)
      : plan_(plan), uses_(UsesOf(graph, locations, plan)) {}

  std::vector<Following> Run() const {
    std::vector<Following> found;
    std::vector<size_t> targets;
    for (size_t s = 0; s < uses_.size(); ++s) {
      if (std::count_if(uses_[s].begin(), uses_[s].end(), IsWrite) > 1) targets.push_back(s);
    }
    for (size_t s = 0; s < uses_.size(); ++s) {
      if (uses_[s].size() < 2) continue;
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

  static bool IsWrite(const StorageUse& use) { return use.writes; }

  /// True if both are alive for a while, and the source neither begins after the target nor
  /// outlives it, as outputs of the graph do.
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
    const std::vector<StorageUse>& used = uses_[source];
    std::vector<int64_t> begins(used.size() + 1, INT64_MAX);  // of what is used from here on
    for (size_t i = used.size(); i-- > 0;) begins[i] = std::min(begins[i + 1], used[i].begin);
    int64_t distance = -At(target).bytes;
    size_t next = 0;
    for (const StorageUse& write : uses_[target]) {
      if (!write.writes) continue;
      while (next < used.size() && used[next].step < write.step) ++next;
      if (next == used.size()) break;
      distance = std::max(distance, write.end - begins[next]);
    }
    return distance > 0 ? PaddedBytes(distance) : distance / kStorageAlignment * kStorageAlignment;
  }

  const ArenaPlan& plan_;
  std::vector<std::vector<StorageUse>> uses_;  ///< by storage
};

}  // namespace

std::vector<Following> FindFollowing(const Graph& graph, const Locations& locations,
                                     const ArenaPlan& plan) {
  if (!graph.states.empty()) return {};
  return Finder(graph, locations, plan).Run();
}

}  // namespace tenon::converter

#include "converter/layout/two_arenas.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tenon::converter {
namespace {

/// Finds storages by the tensors and ops that they are for.
struct StorageIndex {
  explicit StorageIndex(const ArenaPlan& plan) {
    for (size_t i = 0; i < plan.storages.size(); ++i) {
      if (plan.storages[i].root != kNone) of_root[plan.storages[i].root] = i;
    }
  }
  /// Returns none for a constant.
  [[nodiscard]] std::optional<size_t> Find(const Locations& locations, TensorId id) const {
    if (id == kNone) return std::nullopt;
    const auto found = of_root.find(locations.at(id).root);
    return found == of_root.end() ? std::nullopt : std::optional(found->second);
  }
  std::unordered_map<TensorId, size_t> of_root;
};

/// Groups storages that hand over to each other and so lie in one place.
struct Group {
  std::vector<size_t> storages;
  int64_t first_step = INT64_MAX;
  int64_t last_step = -1;
  int64_t bytes = 0;    ///< padded
  int64_t traffic = 0;  ///< bytes read and written in a run

  [[nodiscard]] int64_t Steps() const { return last_step - first_step + 1; }
};

std::vector<TensorId> OperandsOnce(const Op& op) {
  std::vector<TensorId> operands;
  for (const auto* ids : {&op.inputs, &op.outputs}) {
    for (const TensorId id : *ids) {
      if (id != kNone && std::find(operands.begin(), operands.end(), id) == operands.end()) {
        operands.push_back(id);
      }
    }
  }
  return operands;
}

class Grouper {
 public:
  Grouper(const Graph& graph, const Locations& locations, const ArenaPlan& plan)
      : graph_(graph), locations_(locations), plan_(plan), index_(plan) {}

  std::vector<Group> Run() {
    MeasureTraffic();
    group_of_.resize(plan_.storages.size());
    for (size_t i = 0; i < group_of_.size(); ++i) group_of_[i] = i;
    for (const OpId id : plan_.steps) Join(id);
    std::vector<Group> groups(plan_.storages.size());
    for (size_t i = 0; i < plan_.storages.size(); ++i) {
      const PlannedStorage& storage = plan_.storages[i];
      Group& group = groups[Find(i)];
      group.storages.push_back(i);
      group.first_step = std::min(group.first_step, storage.first_step);
      group.last_step = std::max(group.last_step, storage.last_step);
      group.bytes = std::max(group.bytes, PaddedBytes(storage.bytes));
      group.traffic += traffic_[i];
    }
    std::erase_if(groups, [](const Group& group) { return group.storages.empty(); });
    return groups;
  }

 private:
  /// The caller writes inputs and reads outputs. A workspace is used repeatedly: it counts as much
  /// as all that its op reads and writes.
  void MeasureTraffic() {
    traffic_.assign(plan_.storages.size(), 0);
    std::unordered_map<OpId, int64_t> of_op;
    for (const OpId id : plan_.steps) {
      for (const TensorId operand : OperandsOnce(graph_.op(id))) {
        Add(operand);
        of_op[id] += graph_.tensor(operand).ByteSize();
      }
    }
    for (const Graph::Port& port : graph_.inputs()) Add(port.tensor);
    for (const Graph::Port& port : graph_.outputs()) Add(port.tensor);
    for (size_t i = 0; i < plan_.storages.size(); ++i) {
      const PlannedStorage& storage = plan_.storages[i];
      if (storage.workspace_of != kNone) traffic_[i] += of_op[storage.workspace_of];
      for (const OpId op : storage.fallback_of) traffic_[i] += of_op[op];
    }
  }

  void Add(TensorId id) {
    const std::optional<size_t> storage = index_.Find(locations_, id);
    if (storage) traffic_[*storage] += graph_.tensor(id).ByteSize();
  }

  void Join(OpId id) {
    const int input = plan_.in_place[static_cast<size_t>(id)];
    if (input < 0) return;
    const Op& op = graph_.op(id);
    const auto from = index_.Find(locations_, op.inputs[static_cast<size_t>(input)]);
    const auto to = index_.Find(locations_, op.outputs[0]);
    if (from && to) group_of_[Find(*to)] = Find(*from);
  }

  size_t Find(size_t storage) const {
    while (group_of_[storage] != storage) storage = group_of_[storage];
    return storage;
  }

  const Graph& graph_;
  const Locations& locations_;
  const ArenaPlan& plan_;
  const StorageIndex index_;
  std::vector<int64_t> traffic_;  ///< by storage
  std::vector<size_t> group_of_;
};

using Spaces = std::array<int64_t, 2>;  ///< a figure for each

/// Gives each group a space so that the live bytes of both stay below `most`.
class Spreader {
 public:
  Spreader(const std::vector<Group>& groups, size_t steps, const Spaces& most)
      : groups_(groups), most_(most), space_of_(groups.size(), 0) {
    for (auto& live : live_) live.assign(std::max<size_t>(steps, 1), 0);
  }

  /// All start in `keep`; those with the least `price` for their relief are moved out.
  template <typename Price>
  bool Run(int32_t keep, const Price& price) {
    std::fill(space_of_.begin(), space_of_.end(), keep);
    for (const Group& group : groups_) Count(group, keep, group.bytes);
    relief_.resize(groups_.size());
    for (size_t k = 0; k < groups_.size(); ++k) relief_[k] = Relief(groups_[k], keep);
    std::vector<size_t> moved;
    while (IsOver(keep)) {
      const std::optional<size_t> best = Cheapest(keep, price);
      if (!best) return false;
      Move(*best, 1 - keep);
      moved.push_back(*best);
      UpdateRelief(groups_[*best], keep);
    }
    std::stable_sort(moved.begin(), moved.end(),
                     [&](size_t a, size_t b) { return price(groups_[a]) > price(groups_[b]); });
    for (const size_t k : moved) {
      if (HasRoom(groups_[k], keep)) Move(k, keep);
    }
    return true;
  }

  /// Returns the space of each group.
  [[nodiscard]] const std::vector<int32_t>& space_of() const { return space_of_; }

 private:
  std::vector<int64_t>& live(int32_t space) { return live_[static_cast<size_t>(space)]; }
  [[nodiscard]] const std::vector<int64_t>& live(int32_t space) const {
    return live_[static_cast<size_t>(space)];
  }
  [[nodiscard]] int64_t most(int32_t space) const { return most_[static_cast<size_t>(space)]; }

  void Count(const Group& group, int32_t space, int64_t bytes) {
    for (int64_t s = group.first_step; s <= group.last_step; ++s) {
      live(space)[static_cast<size_t>(s)] += bytes;
    }
  }

  void Move(size_t k, int32_t space) {
    Count(groups_[k], space_of_[k], -groups_[k].bytes);
    Count(groups_[k], space, groups_[k].bytes);
    space_of_[k] = space;
  }

  [[nodiscard]] bool IsOver(int32_t space) const {
    return *std::max_element(live(space).begin(), live(space).end()) > most(space);
  }

  [[nodiscard]] bool HasRoom(const Group& group, int32_t space) const {
    for (int64_t s = group.first_step; s <= group.last_step; ++s) {
      if (live(space)[static_cast<size_t>(s)] + group.bytes > most(space)) return false;
    }
    return true;
  }

  /// Returns by how many bytes the space would be less over its limit, summed over steps.
  [[nodiscard]] double Relief(const Group& group, int32_t space) const {
    int64_t relief = 0;
    for (int64_t s = group.first_step; s <= group.last_step; ++s) {
      const int64_t over = live(space)[static_cast<size_t>(s)] - most(space);
      relief += std::min(group.bytes, std::max<int64_t>(over, 0));
    }
    return static_cast<double>(relief);
  }

  /// Only groups that live beside the one that was moved give another relief now.
  void UpdateRelief(const Group& moved, int32_t space) {
    for (size_t k = 0; k < groups_.size(); ++k) {
      const Group& group = groups_[k];
      const bool beside =
          group.first_step <= moved.last_step && moved.first_step <= group.last_step;
      if (beside) relief_[k] = Relief(group, space);
    }
  }

  template <typename Price>
  [[nodiscard]] std::optional<size_t> Cheapest(int32_t space, const Price& price) const {
    std::optional<size_t> best;
    double best_relief = 0;
    for (size_t k = 0; k < groups_.size(); ++k) {
      if (space_of_[k] != space) continue;
      const double relief = relief_[k];
      const double per_price = relief / price(groups_[k]);
      if (relief <= 0 || (best && per_price <= best_relief)) continue;
      if (!HasRoom(groups_[k], 1 - space)) continue;
      best = k;
      best_relief = per_price;
    }
    return best;
  }

  const std::vector<Group>& groups_;
  const Spaces most_;
  std::array<std::vector<int64_t>, 2> live_;  ///< by space and step
  std::vector<int32_t> space_of_;             ///< by group
  std::vector<double> relief_;                ///< by group, of the space that is left
};

class TwoArenaPlanner {
 public:
  TwoArenaPlanner(std::vector<Group> groups, const ArenaPlan& one, const TwoSpaces& spaces,
                  int64_t work_budget)
      : groups_(std::move(groups)), plan_(one), spaces_(spaces), budget_(work_budget) {}

  std::optional<ArenaPlan> Run() {
    if (MostLive() > spaces_.first.limit + spaces_.second.limit) return std::nullopt;
    const double first = spaces_.first.bytes_per_second;
    const double second = spaces_.second.bytes_per_second;
    const int32_t fast = second > first && first > 0 ? 1 : 0;
    const auto by_traffic = [](const Group& group) {
      return static_cast<double>(group.traffic) + 1;
    };
    const auto by_bytes = [](const Group& group) {
      return static_cast<double>(group.bytes) * static_cast<double>(group.Steps()) + 1;
    };
    const auto by_quiet = [](const Group& group) {
      return 1 / (static_cast<double>(group.traffic) + 1);
    };
    if (Try(fast, by_traffic) || Try(fast, by_bytes) || Try(1 - fast, by_quiet)) {
      return std::move(plan_);
    }
    return std::nullopt;
  }

  /// Places groups where they are told to be, as small as can be.
  std::optional<ArenaPlan> Place(const std::vector<int32_t>& space_of) {
    const Spaces limits = {spaces_.first.limit, spaces_.second.limit};
    for (int32_t space = 0; space < 2; ++space) {
      const auto k = static_cast<size_t>(space);
      placed_[k] = Place(space_of, space, limits[k]);
      if (placed_[k].peak > limits[k]) return std::nullopt;
    }
    Write(space_of);
    return std::move(plan_);
  }

 private:
  /// Returns the most bytes that are live at one step, in whatever space.
  [[nodiscard]] int64_t MostLive() const {
    std::vector<int64_t> change(plan_.steps.size() + 2, 0);
    for (const Group& group : groups_) {
      change[static_cast<size_t>(group.first_step)] += group.bytes;
      change[static_cast<size_t>(group.last_step) + 1] -= group.bytes;
    }
    int64_t live = 0;
    int64_t most = 0;
    for (const int64_t at_step : change) most = std::max(most, live += at_step);
    return most;
  }

  /// Live bytes do not include gaps: if those need more than there is, the live limit is reduced.
  template <typename Price>
  bool Try(int32_t keep, const Price& price) {
    constexpr int kMostRounds = 6;
    const Spaces limits = {spaces_.first.limit, spaces_.second.limit};
    Spaces most = limits;
    for (int round = 0; round < kMostRounds; ++round) {
      Spreader spreader(groups_, plan_.steps.size(), most);
      if (!spreader.Run(keep, price)) return false;
      bool fits = true;
      for (int32_t space = 0; space < 2; ++space) {
        const auto k = static_cast<size_t>(space);
        placed_[k] = Place(spreader.space_of(), space, limits[k]);
        const int64_t over = placed_[k].peak - limits[k];
        if (over <= 0) continue;
        most[k] -= std::max(over, kStorageAlignment);
        fits = false;
      }
      if (!fits) continue;
      Write(spreader.space_of());
      return true;
    }
    return false;
  }

  Placement Place(const std::vector<int32_t>& space_of, int32_t space, int64_t limit) {
    std::vector<Buffer> buffers;
    for (size_t k = 0; k < groups_.size(); ++k) {
      if (space_of[k] != space) continue;
      int64_t bytes = 0;
      for (const size_t i : groups_[k].storages) bytes = std::max(bytes, plan_.storages[i].bytes);
      buffers.push_back({groups_[k].first_step, groups_[k].last_step + 1, bytes, kStorageAlignment,
                         std::nullopt});
    }
    PlaceOptions options;
    options.limit = limit;
    options.work_budget = std::max<int64_t>(budget_, 1);
    Placement placement = PlaceBuffers(buffers, options);
    budget_ -= placement.work;
    plan_.place_work += placement.work;
    return placement;
  }

  void Write(const std::vector<int32_t>& space_of) {
    std::array<size_t, 2> next = {0, 0};
    for (size_t k = 0; k < groups_.size(); ++k) {
      const auto space = static_cast<size_t>(space_of[k]);
      const int64_t offset = placed_[space].offsets[next[space]++];
      for (const size_t i : groups_[k].storages) {
        plan_.storages[i].arena = static_cast<int32_t>(space);
        plan_.storages[i].offset = offset;
      }
    }
    plan_.arenas.clear();
    for (size_t k = 0; k < 2; ++k) {
      const ArenaSpace& space = k == 0 ? spaces_.first : spaces_.second;
      if (next[k] == 0) continue;
      plan_.arenas.push_back(
          {space.name, placed_[k].peak, placed_[k].lower_bound, placed_[k].proven_optimal, 1});
    }
    if (plan_.arenas.size() == 1) {
      for (PlannedStorage& storage : plan_.storages) storage.arena = 0;
    }
    plan_.bytes = placed_[0].peak;
    plan_.lower_bound = placed_[0].lower_bound;
    plan_.proven_optimal = placed_[0].proven_optimal;
  }

  const std::vector<Group> groups_;
  ArenaPlan plan_;
  const TwoSpaces& spaces_;
  int64_t budget_;
  std::array<Placement, 2> placed_;
};

}  // namespace

std::optional<ArenaPlan> SpreadOverTwoArenas(const Graph& graph, const Locations& locations,
                                             const ArenaPlan& one, const TwoSpaces& spaces,
                                             int64_t work_budget) {
  std::vector<Group> groups = Grouper(graph, locations, one).Run();
  return TwoArenaPlanner(std::move(groups), one, spaces, work_budget).Run();
}

std::optional<ArenaPlan> PutIntoTwoArenas(const Graph& graph, const Locations& locations,
                                          const ArenaPlan& one, const TwoSpaces& spaces,
                                          const std::vector<TensorId>& second,
                                          int64_t work_budget) {
  const std::vector<Group> groups = Grouper(graph, locations, one).Run();
  const auto is_second = [&](size_t storage) {
    const TensorId root = one.storages[storage].root;
    return root != kNone && std::find(second.begin(), second.end(), root) != second.end();
  };
  std::vector<int32_t> space_of;
  for (const Group& group : groups) {
    const bool any = std::any_of(group.storages.begin(), group.storages.end(), is_second);
    space_of.push_back(any ? 1 : 0);
  }
  return TwoArenaPlanner(groups, one, spaces, work_budget).Place(space_of);
}

int64_t OperandBytesIn(const Graph& graph, const Locations& locations, const ArenaPlan& plan,
                       const std::string& space, const Op& op) {
  const StorageIndex index(plan);
  int64_t bytes = 0;
  for (const TensorId id : OperandsOnce(op)) {
    const std::optional<size_t> storage = index.Find(locations, id);
    if (!storage) continue;
    const auto arena = static_cast<size_t>(plan.storages[*storage].arena);
    if (plan.arenas[arena].space == space) bytes += graph.tensor(id).ByteSize();
  }
  return bytes;
}

}  // namespace tenon::converter

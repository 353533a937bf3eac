// Implements the search of PatchPlanner: which chains to cut, and how, at least cost under a
// target.
//
// Uses dynamic programming over positions of the order: for each position, the least cost at which
// every step so far stays under the target, where an op is either left whole or belongs to one
// chain.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "converter/split/chain_builder.hpp"
#include "converter/split/patch_plan.hpp"
#include "converter/split/patch_profile.hpp"

namespace tenon::converter {

/// A chain and the way of cutting it.
struct PlannedChain {
  Chain chain;
  Patching patching;
  PatchEstimate estimate;
  int64_t peak = 0;  ///< of everything alive while the chain runs
  int64_t cost = 0;  ///< see MemoryPlanSearch::CostOf
};

struct PlanOfChains {
  std::vector<PlannedChain> chains;  ///< in order of execution
  int64_t peak = 0;                  ///< over chains and whole ops

  [[nodiscard]] int64_t Cost() const;
};

class MemoryPlanSearch {
 public:
  MemoryPlanSearch(const Graph& graph, const MemorySplitOptions& options,
                   WaitingParts waiting = WaitingParts::kInside);

  [[nodiscard]] const LiveProfile& profile() const { return profile_; }
  [[nodiscard]] const GraphOrder& order() const { return order_; }
  /// Returns none if no plan is found before the work budget is spent.
  [[nodiscard]] std::optional<PlanOfChains> Find(int64_t target, CutInto into);

  /// Returns the extra cost of patches over whole ops, in bytes that could be moved in the same
  /// time.
  [[nodiscard]] int64_t CostOf(const PatchEstimate& estimate) const;

 private:
  struct Way {
    size_t from = 0;  ///< index into cuts_; the chain begins there
    SplitDimension dimension = SplitDimension::kHeight;
    Patching patching;
    int64_t peak = 0;
    int64_t cost = 0;
    int64_t ops = 0;
  };
  struct Known {
    int64_t peak = 0;
    int64_t cost = 0;
    int64_t ops = 0;
  };
  struct Reached {
    int64_t cost = INT64_MAX;
    bool whole = true;  ///< reached from the previous cut with ops left whole
    Way way;
  };

  struct Growing {
    explicit Growing(ChainBuilder chain_builder) : builder(std::move(chain_builder)) {}
    ChainBuilder builder;
    size_t usable = 0;   ///< ops that can be cut
    bool ended = false;  ///< no further op can be cut
  };

  /// Factor on the work budget if no plan was found within it.
  static constexpr int64_t kOverdraft = 4;

  /// True if no more is to be estimated.
  [[nodiscard]] bool IsOverdrawn() const {
    return effort_ > kOverdraft * options_.work_budget ||
           (effort_ > options_.least_work && options_.time_limit.Passed());
  }
  void ChooseCuts();
  void Extend(size_t to, int64_t target, std::vector<Reached>& reached);
  [[nodiscard]] bool Cheapest(size_t from, size_t to, int64_t target, Way& best);
  bool TryPolicies(const Chain& chain, int64_t target, Way way, Way& best);
  bool TryPolicy(const Chain& chain, int64_t target, Way way, Way& best, int64_t& least_peak);
  bool TryTiles(const Chain& chain, int64_t target, Way way, Way& best);
  bool TryTilePolicy(const Chain& chain, int64_t target, Way way, Way& best, int64_t& least_peak);
  [[nodiscard]] int64_t BytesBesideTiles(const Chain& chain) const;
  void FindSource(Chain& chain) const;
  void LookUp(const Chain& chain, Way& way);
  [[nodiscard]] int64_t ExitsInLargerStorages(const Chain& chain) const;
  PlannedChain Evaluate(const Chain& chain, const Patching& patching);
  std::optional<Chain> ChainOf(int64_t first, SplitDimension dimension, size_t count);
  [[nodiscard]] std::vector<int32_t> PartCounts(const Chain& chain) const;
  [[nodiscard]] int32_t MostSteps(const Chain& chain, PatchPolicy policy, int32_t parts) const;
  [[nodiscard]] std::vector<int32_t> CountsInSteps(const Chain& chain, PatchPolicy policy) const;
  [[nodiscard]] std::vector<int32_t> CountsOfTiledPatches(const Chain& chain,
                                                          PatchPolicy policy) const;
  [[nodiscard]] PlanOfChains Collect(const std::vector<Reached>& reached);

  using Key = std::tuple<int64_t, size_t, int, int32_t, int, int32_t, int, int32_t>;
  const Graph& graph_;
  MemorySplitOptions options_;
  GraphOrder order_;
  LiveProfile profile_;
  std::vector<int64_t> cuts_;  ///< positions where chains may begin and end; first 0, last the end
  std::vector<int64_t> whole_peak_;  ///< by cut: live bytes up to the next one, ops left whole
  std::map<std::pair<int64_t, int>, Growing> growing_;  ///< by first position and dimension
  std::map<Key, Known> known_[2];                       ///< by CutInto, at whose prices
  /// By first op, number of ops and dimension: the least peak of the finest patches of all
  /// policies. INT64_MAX: no chain, or none that can be cut.
  std::map<std::tuple<int64_t, size_t, int>, int64_t> least_peaks_;
  /// By first op and number of ops: the least peak of tiles, or what none can be below.
  std::map<std::pair<int64_t, size_t>, int64_t> least_tiled_;
  CutInto into_ = CutInto::kPatches;
  int64_t effort_ = 0;
};

}  // namespace tenon::converter

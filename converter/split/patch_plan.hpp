// Cuts chains of ops into patches until the arena is estimated to fit a limit (docs/methods.md,
// C4).
//
// Requires:   canonical graph, before kernels are chosen.
// Guarantees: as CutIntoPatches; a graph that is expected to fit is not changed.
//
// What the arena really needs (layouts' copies, workspaces, gaps) is known only once kernels are
// chosen and storages placed. So where the result is still too large, the caller calls again on a
// fresh graph with a smaller target: FitMemory is that loop.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/split/chain.hpp"
#include "converter/split/chain_builder.hpp"
#include "converter/time_limit.hpp"

namespace tenon::converter {

class MemoryPlanSearch;
struct PlannedChain;
struct PlanOfChains;

/// The extra cost of patches over whole ops, in bytes that could be moved in the same time.
struct PatchPrices {
  double bytes_per_op = 16 * 1024;  ///< 1.6 microseconds of start and barrier at 10 GB/s
  double bytes_per_work = 1.0 / 3;  ///< bytes per multiply-accumulate: 30 G/s against 10 GB/s
};

struct MemorySplitOptions {
  SplittingLimits limits;
  /// Tiles may be tried where patches along one dimension do not reach a limit.
  bool tiles = false;
  /// A chain's exit may be written where what enters it has been read, see ArenaOptions::follow.
  bool follow = false;
  std::vector<PatchPolicy> policies{std::begin(kPatchPolicies), std::end(kPatchPolicies)};
  int64_t longest = 160;  ///< ops of a chain; a batch may be cut through all of them
  /// Ops that estimates may visit, some 20 nanoseconds each; not seconds, so that results repeat.
  int64_t work_budget = 100'000'000;
  TimeLimit time_limit;
  /// Ops that estimates may visit whatever the time: else much that fits would be refused.
  int64_t least_work = 1'500'000;
  InPlaceInputs in_place;  ///< kernels that work in place; may be empty
  OutsideInputs outside;   ///< take none of the memory that is counted
  PatchPrices prices;
  PatchPrices tile_prices;  ///< of plans in which tiles are tried
};

/// One chain that was cut, for reports.
struct SplitChain {
  std::string first_op;
  std::string last_op;
  int64_t ops = 0;
  SplitDimension dimension = SplitDimension::kHeight;
  Patching patching;
  int64_t peak_before = 0;      ///< most live bytes while the whole ops run
  int64_t peak_after = 0;       ///< most live bytes while the patches run, as estimated
  int64_t copied_bytes = 0;     ///< bytes of rows that patches copy for the next one
  int64_t recomputed_work = 0;  ///< multiply-accumulates and elementary ops
  std::string reason;
};

struct MemorySplit {
  bool fits = false;               ///< estimated_peak <= the target
  int64_t target_bytes = 0;        ///< that the chains are cut for: what was asked for, or less
  int64_t cost = 0;                ///< beyond that of whole ops, by the prices
  int64_t unsplit_peak = 0;        ///< estimated live bytes of the graph as it was
  int64_t estimated_peak = 0;      ///< estimated live bytes of the graph as it is now
  std::vector<SplitChain> chains;  ///< in order of execution
};

/// Returns true if no input comes by rows, each of which is there once.
[[nodiscard]] bool MayMakeTiles(const OutsideInputs& outside);

/// Plans which chains of a graph to cut. Given several targets, it estimates each way of cutting
/// only once. The graph must not change while the planner is in use.
class PatchPlanner {
 public:
  PatchPlanner(const Graph& graph, const MemorySplitOptions& options);
  ~PatchPlanner();

  /// Returns the live bytes at the worst step of the graph as it is.
  [[nodiscard]] int64_t UnsplitPeak() const;
  /// Returns true if tiles may be tried: the options say so, and inputs allow it.
  [[nodiscard]] bool MayMakeTiles() const { return may_make_tiles_; }
  /// Returns the smallest target that Plan can meet, within 1/256. Found once.
  [[nodiscard]] int64_t SmallestTarget(CutInto into = CutInto::kPatches);
  /// Returns the cheapest plan found under the target; without one, `fits` is false and there are
  /// no chains.
  [[nodiscard]] MemorySplit Plan(int64_t target_bytes, CutInto into = CutInto::kPatches);
  /// Cuts `graph`, which is the planner's or an equal copy of it, by the last plan.
  [[nodiscard]] Status Apply(Graph& graph) const;
  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] bool IsOutOfTime() const { return time_limit_.Passed(); }

 private:
  struct SmallestPlan;
  [[nodiscard]] std::unique_ptr<SmallestPlan> FindSmallest(CutInto into, int64_t reachable);
  [[nodiscard]] std::optional<PlanOfChains> FindAny(int64_t target, CutInto into);

  const Graph& graph_;
  std::unique_ptr<MemoryPlanSearch> search_;
  /// With WaitingParts::kApart; null if the graph has no such parts.
  std::unique_ptr<MemoryPlanSearch> search_apart_;
  std::vector<PlannedChain> chains_;           ///< of the last plan
  std::unique_ptr<SmallestPlan> smallest_[2];  ///< by CutInto; null: not looked for yet
  bool may_make_tiles_ = false;
  TimeLimit time_limit_;
};

/// Plans and cuts the graph. Where no plan meets the target, the graph stays as it is and `fits` is
/// false.
[[nodiscard]] Result<MemorySplit> SplitForMemory(Graph& graph, int64_t target_bytes,
                                                 const MemorySplitOptions& options);

/// Returns the smallest target that SplitForMemory can meet, in estimated live bytes.
[[nodiscard]] int64_t SmallestTarget(const Graph& graph, const MemorySplitOptions& options);

struct MemoryFit {
  MemorySplit split;
  int64_t measured_bytes = 0;  ///< result of `measure` for the chosen graph
  int64_t predicted_time = 0;  ///< likewise
  int tries = 0;
};

inline constexpr int64_t kTooSlow = INT64_MAX;

/// Is what the fully converted graph, cut like this, needs.
struct MeasuredCut {
  int64_t bytes = 0;  ///< kTooSlow if it takes too long
  int64_t time = 0;   ///< picoseconds, as predicted for the kernels that will run; 0: not known

  MeasuredCut(int64_t of_bytes, int64_t of_time = 0) : bytes(of_bytes), time(of_time) {}
};
using MeasureMemory =
    std::function<Result<MeasuredCut>(const Graph& graph, const MemorySplit& split)>;

/// What is wanted of all that needs at most the limit.
enum class Wanted : uint8_t {
  kFirst,  ///< the first that is found
  /// The fastest, and of those that are predicted to take equally long the cheapest: targets
  /// between one that fits and the next are tried too, and some below that no limit changes.
  kCheapest,
};

/// Cuts the graph until `measure` returns at most `limit_bytes`, lowering the target by the excess
/// each time. Takes at most `most_tries` conversions, and one more for the smallest target. If none
/// fits, the graph becomes the one that needs least: compare `measured_bytes`. A limit of 0 asks
/// for the smallest that can be reached; targets above it are tried in growing steps, which also
/// finds the smallest that is not too slow. Where the limit is not reached and tiles may be made,
/// the same is done with them.
[[nodiscard]] Result<MemoryFit> FitMemory(Graph& graph, int64_t limit_bytes,
                                          const MemorySplitOptions& options,
                                          const MeasureMemory& measure,
                                          Wanted wanted = Wanted::kFirst, int most_tries = 8);

/// The same with a planner that is asked several times; `cut` becomes the planner's graph, cut.
[[nodiscard]] Result<MemoryFit> FitMemory(PatchPlanner& planner, Graph& cut, int64_t limit_bytes,
                                          const MeasureMemory& measure,
                                          Wanted wanted = Wanted::kFirst, int most_tries = 8);

}  // namespace tenon::converter

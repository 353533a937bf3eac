// Fits a graph to several units that work side by side, which is a matter of time too: compiles
// each way to split with little effort, then the fastest one again in full.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "converter/driver/fit_ways.hpp"
#include "converter/driver/limit_search.hpp"

namespace tenon::converter {

class SeveralUnitsFitter : public FitWays {
 public:
  /// The graph and the options must outlive the fitter.
  SeveralUnitsFitter(const Graph& graph, const CompileOptions& options, const SplitOptions& split);

  Result<Fitted> Whole() override;
  /// Returns the fastest of all ways, by simulation.
  Result<std::optional<Fitted>> Aim(int64_t bytes) override;
  Result<std::optional<Fitted>> Proof(int64_t bytes) override;
  Result<Fitted> Smallest() override;

 private:
  /// Eighths of the fast memory that chains' live bytes and ops' working sets may use; 0 cuts no
  /// chains. `traffic`: chains are cut for what they move between memories, see CutForTraffic, and
  /// the share is that of a patch.
  struct Shares {
    int64_t chains = 0;
    int64_t ops = 8;
    bool traffic = false;
  };

  /// A graph that is split, but not compiled yet.
  struct Candidate {
    Fitted fitted;
    Graph graph;

    [[nodiscard]] bool IsWhole() const {
      return fitted.ops.splits.empty() && fitted.chains.chains.empty();
    }
  };

  /// What became of one way of splitting under one limit.
  struct Trial {
    bool is_large = false;  ///< not compiled: too many parts
    Candidate candidate;
    bool fits = false;
  };
  /// The target of chains, which is the same for small shares, the share of ops, and whether chains
  /// are cut for traffic.
  using TrialKey = std::tuple<int64_t, int64_t, bool>;

  [[nodiscard]] Result<LimitSearch*> Search();
  void SetLimit(int64_t arena_bytes);
  [[nodiscard]] int64_t ChainTarget(const Shares& shares);
  Result<Trial*> Try(const Shares& shares);
  [[nodiscard]] bool IsLarge(const Graph& split, const Shares& shares) const;
  [[nodiscard]] bool IsNearBound(const Candidate* best) const;
  Result<std::optional<Fitted>> InFull(const Candidate& candidate);
  Status TryOthersInFull(const Candidate& best, const std::vector<const Candidate*>& tried,
                         Fitted& fitted);
  [[nodiscard]] static bool MayBeBelow(Picoseconds bound, const Fitted& fitted);
  Result<std::optional<Fitted>> Attempt(int64_t arena_bytes);
  [[nodiscard]] Result<int64_t> Beside();
  [[nodiscard]] Result<Candidate> Split(const Shares& shares);
  [[nodiscard]] Result<Fitted> With(const Candidate& candidate, const CompileOptions& compile);

  const Graph& graph_;
  const SplitOptions& split_;
  CompileOptions options_;  ///< for `board_`
  Board board_;             ///< whose limit of the arena's space is what is aimed at
  MemorySplitOptions split_options_;
  std::optional<Fitted> whole_;
  std::optional<int64_t> beside_;  ///< bytes of the arena's space that are no arena
  std::optional<PatchPlanner> planner_;
  std::map<TrialKey, Trial> trials_;  ///< under the limit of `board_`
  std::optional<LimitSearch> search_;
  std::optional<Fitted> smallest_;
};

}  // namespace tenon::converter

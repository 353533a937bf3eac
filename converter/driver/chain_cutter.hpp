// Cuts chains of a graph until its compiled program fits: FitMemory with real compilations. What
// has been planned and compiled once is remembered, because one search for the smallest program
// aims at many limits and meets the same cuts again and again.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "converter/driver/fit.hpp"

namespace tenon::converter {

/// What a program is cut and compiled with.
struct ChainCutOptions {
  CompileOptions compile;
  bool ops = false;  ///< also splits every op whose working set exceeds its unit's memory
  double most_time =
      0;  ///< predicted picoseconds beyond which a program counts as too slow; 0: any
  Wanted wanted = Wanted::kFirst;
};

/// Compiles the graph; with `ops`, first splits every op whose working set exceeds its memory.
[[nodiscard]] Result<Fitted> SplitAndCompile(Graph graph, const CompileOptions& compile,
                                             MemorySplit chains, bool ops);

/// Returns true if the program takes longer than `most_time` picoseconds; 0: never.
[[nodiscard]] bool IsTooSlow(const Fitted& fitted, double most_time);

/// Returns true if `a` is the better one of at most so many bytes: the faster, then the smaller.
[[nodiscard]] bool IsCheaper(const Fitted& a, const Fitted& b, int64_t arena_bytes);

class ChainCutter {
 public:
  ChainCutter(Graph graph, const MemorySplitOptions& options);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  /// Returns true if the graph's ops are in this order.
  [[nodiscard]] bool HasOrder(const std::vector<OpId>& order) const;

  /// Cuts chains until the arena has at most `arena_bytes`; 0: as few as possible, with what
  /// kernels pack. The result's `cut` is the graph before kernels were chosen. Where the cheapest
  /// is wanted and exits may follow what they are made of, the better one of the plans that count
  /// on it and of those that do not: fewer bytes by estimate let the former take coarser patches of
  /// longer chains, which may take longer.
  [[nodiscard]] Result<Fitted> Cut(const ChainCutOptions& options, int64_t arena_bytes);

  /// Returns other cuts that were measured and not too slow, and whose estimates are below the
  /// arena of `smallest`: the smallest measured ones first, at most `most`. Ordered and placed with
  /// more effort, they may need less than what measured less. Without their compiled programs.
  [[nodiscard]] std::vector<Fitted> Promising(const Fitted& smallest, size_t most) const;

 private:
  struct Candidate {
    int64_t measured = 0;  ///< bytes, when it was compiled quickly
    Fitted fitted;
  };

  using Known = std::map<std::string, Fitted>;

  [[nodiscard]] Result<const Fitted*> CompileCut(const Graph& cut, const MemorySplit& chains,
                                                 const ChainCutOptions& options,
                                                 const CompileOptions& compile);

  [[nodiscard]] Result<Fitted> CutBy(PatchPlanner& planner, const ChainCutOptions& options,
                                     int64_t arena_bytes);
  void Remember(const Graph& cut, const MemorySplit& chains, const Fitted& fitted);

  Graph graph_;
  MemorySplitOptions options_;
  PatchPlanner planner_;
  std::unique_ptr<PatchPlanner> beside_;         ///< exits follow nothing; null: not asked for yet
  Known known_;                                  ///< by cuts, parts and what changes a program
  std::map<std::string, Candidate> candidates_;  ///< by the cuts
};

}  // namespace tenon::converter

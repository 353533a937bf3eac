// Fits a graph to one unit that runs all ops, where every order takes the same time: whole ops
// first, then kernels that work in place, then chains cut into patches, then single ops split.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "converter/driver/chain_cutter.hpp"
#include "converter/driver/fit_ways.hpp"

namespace tenon::converter {

class OneUnitFitter : public FitWays {
 public:
  /// The graph and the options must outlive the fitter.
  OneUnitFitter(const Graph& graph, const CompileOptions& options, const SplitOptions& split);

  Result<Fitted> Whole() override;
  /// Tries ways in order of their cost in time. On a board with a direct space, storages are spread
  /// over both spaces where that is predicted to take less time.
  Result<std::optional<Fitted>> Aim(int64_t bytes) override;
  Result<std::optional<Fitted>> Proof(int64_t bytes) override;
  Result<Fitted> Smallest() override;
  /// The smallest arena, before it is spread over two spaces.
  Result<Fitted> SmallestInAll() override;

 private:
  [[nodiscard]] bool HasDirectSpace() const { return board_.DirectSpace() != nullptr; }
  Result<std::optional<Fitted>> AimAtOneSpace();
  Result<std::optional<Fitted>> AimWith(int64_t shares);
  [[nodiscard]] bool SpreadIsFastest() const;
  [[nodiscard]] bool IsNearlyAsFastAsWhole(const Fitted& fitted) const;
  Result<std::optional<Fitted>> AimByProgram();
  Status ShrinkByProgram(Fitted& smallest) const;
  Result<bool> AcceptUncut(Fitted& fitted, bool lean);
  Result<bool> Accept(Fitted& fitted, bool lean);
  Result<std::optional<Fitted>> Spread(Fitted fitted, int64_t bytes) const;
  Result<Fitted> LeastUncut();
  Result<Fitted> SmallestInOneSpace();
  Result<Fitted> LeastSpread(Fitted smallest) const;
  [[nodiscard]] Status TakeIfSmaller(Fitted fitted, Fitted& smallest) const;
  [[nodiscard]] Result<Fitted> OrderAgain(const CompileOptions& compile, const Fitted& cut) const;
  [[nodiscard]] Status ShrinkCuts(const CompileOptions& compile, Fitted& smallest) const;
  Status Improve(const CompileOptions& compile, const Fitted& whole, Fitted& smallest);
  [[nodiscard]] Result<Fitted> Cut(const CompileOptions& compile, int64_t arena_bytes,
                                   const Fitted& whole, bool ops, Wanted wanted = Wanted::kFirst);
  [[nodiscard]] Status TryEarlyReads(const ChainCutOptions& options, int64_t arena_bytes,
                                     Result<Fitted>& found);

  const Graph& graph_;
  const SplitOptions& split_;
  CompileOptions options_;  ///< for `board_`
  Board board_;             ///< whose limit of the arena's space is what is aimed at
  MemorySplitOptions split_options_;
  int64_t limit_ = kUnlimited;    ///< aimed at
  int64_t unsplit_ = 0;           ///< the arena before anything was split
  double most_time_ = 0;          ///< in picoseconds; 0: no limit
  std::optional<Fitted> whole_;   ///< result of Whole
  std::optional<Fitted> spread_;  ///< the fastest spread over two spaces so far
  std::optional<Fitted> uncut_;   ///< result of LeastUncut
  std::optional<Fitted> in_one_;  ///< result of SmallestInAll
  std::optional<Fitted> smallest_;
  std::unique_ptr<ChainCutter> cutter_;  ///< of the graph in the order that was cut last
  std::unique_ptr<ChainCutter> early_;   ///< of the same after ReadEarly
  int early_reads_ = 0;                  ///< its number of them
};

}  // namespace tenon::converter

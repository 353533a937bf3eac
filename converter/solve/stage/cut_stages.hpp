// Cuts an order of ops into contiguous stages on units so that the period is least.
#pragma once

#include <cstdint>
#include <optional>

#include "converter/solve/stage/stage_problem.hpp"

namespace tenon::converter {

struct CutOptions {
  int64_t work_budget = 8'000'000;  ///< stages tried; beyond, only the most promising are followed
  /// Limits the cut points considered: with more ops, those where the fewest bytes cross, spread
  /// over the work.
  int32_t most_points = 256;
  /// Share by which the period may grow if that saves stages. Measurements show that stages that
  /// take turns on a unit evict each other's data from its caches.
  double stage_slack = 0.10;
};

/// Runs dynamic programming over the order. A prefix is described by how long each unit works on it
/// and which unit runs its last stage; prefixes that are worse on every unit are dropped. Finds the
/// least period of all cuts of this order into at most `most_stages` stages, where a unit may run
/// any number of them (`exact`), unless the budget or `most_points` prevents it; then the fewest
/// stages whose period is longer by no more than the slack. Returns none if some op runs on no
/// unit. Deterministic.
[[nodiscard]] std::optional<StageCut> CutStages(const StageProblem& problem,
                                                const CutOptions& options = {});

struct BoundaryOptions {
  double slack = 0.01;               ///< by which the period may grow in favour of less traffic
  int32_t most_moved = 16;           ///< ops that change stages together
  int64_t work_budget = 50'000'000;  ///< ops and values looked at
  bool even_out = true;              ///< makes stages more equally long, too
};

/// Moves ops at the stages' boundaries to the neighbouring stage, together with those of their own
/// stage that must go with them: first while that shortens the period, then while it lowers traffic
/// and the period grows by no more than the slack; at last, with `even_out`, while that lowers the
/// sum of the squares of the stages' times, if the shortest stage becomes longer against the
/// longest one by more than a fiftieth. The result is no longer a cut of the order given, but of
/// the order by stages. The period never exceeds what `slack` allows, and traffic never grows at an
/// equal period but for what evening out takes. `exact` still refers to the order given.
void ImproveBoundaries(const StageProblem& problem, const BoundaryOptions& options, StageCut& cut);

}  // namespace tenon::converter

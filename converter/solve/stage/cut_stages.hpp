// Cuts an order of ops into contiguous stages on units so that the period is least.
#pragma once

#include <cstdint>
#include <optional>

#include "converter/solve/stage/stage_problem.hpp"

namespace tenon::converter {

struct CutOptions {
  int64_t work_budget = 8'000'000;  ///< stages tried; beyond, only the most promising are followed
  /// Cut points looked at: with more ops, those where the fewest bytes cross, spread over the work.
  int32_t most_points = 256;
  double stage_slack = 0.10;  ///< by which the period may be longer if stages are saved by it:
                              ///< measured, stages that take turns on a unit cost it caches
};

/// Dynamic programming over the order: what is known of a prefix is how long each unit works on it
/// and which unit runs its last stage; prefixes that are worse on every unit are dropped. Finds the
/// least period of all cuts of this order into at most `most_stages` stages, a unit running as many
/// of them as it likes (`exact`), unless the budget or `most_points` forbids; then the fewest
/// stages whose period is longer by no more than the slack. None if some op runs on no unit.
/// Deterministic.
[[nodiscard]] std::optional<StageCut> CutStages(const StageProblem& problem,
                                                const CutOptions& options = {});

struct BoundaryOptions {
  double slack = 0.01;               ///< by which the period may grow in favour of less traffic
  int32_t most_moved = 16;           ///< ops that change stages together
  int64_t work_budget = 50'000'000;  ///< ops and values looked at
};

/// Moves ops at the stages' boundaries to the neighbouring stage, together with those of their own
/// stage that must go with them: first while that shortens the period, then while it lowers traffic
/// and the period stays within the slack of what it was. The result is no longer a cut of the order
/// given, but of the order by stages. Never a longer period than `slack` allows, never more traffic
/// at an equal period. `exact` stays as it is said of the order given.
void ImproveBoundaries(const StageProblem& problem, const BoundaryOptions& options, StageCut& cut);

}  // namespace tenon::converter

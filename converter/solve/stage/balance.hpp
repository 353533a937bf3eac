// Makes the stages of a pipeline take equally long (docs/methods.md, R5), in numbers.
#pragma once

#include <vector>

#include "converter/solve/stage/stage_problem.hpp"

namespace tenon::converter {

/// Returns the least time of a unit's stages over the largest one's: 1 is balanced. Stages that
/// take turns on a unit count as one. 1 for fewer than two units.
[[nodiscard]] double BalanceRate(const StageCut& cut);

/// Returns a rate that no cut onto so many units exceeds whose ops take what they do on the units
/// of this one, since ops are not divided: one unit takes at least the longest op's time, and of
/// the others one has at most its share of the rest.
[[nodiscard]] double BalanceBound(const StageProblem& problem, const StageCut& cut);

/// Scales the times that the problem's ops have on the units of the cut's stages, so that each
/// stage takes what it took when it was built: with copies, other layouts, and the ops that its
/// memory program runs again. Units that are equal stay equal.
void TakeBuiltTimes(const StageCut& cut, const std::vector<Picoseconds>& built,
                    StageProblem& problem);

}  // namespace tenon::converter

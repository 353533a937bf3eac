// Finds the layers that cost the most accuracy, so that they can stay float.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "converter/quantize/trial.hpp"

namespace tenon::converter {

/// A layer and the noise that it alone brings to the outputs.
struct LayerNoise {
  OpId layer = kNone;
  double noise = 0; /**< relative to the signal, of the output that suffers most */
};

/// Every layer of `chosen` by itself as integers, all else float; the noisiest first, ties in the
/// graph's order. Errors: as of the judge.
[[nodiscard]] Result<std::vector<LayerNoise>> RankLayers(
    const IntegerOps& chosen, const std::vector<OpId>& order,
    const std::function<Result<Accuracy>(const std::set<OpId>& integer_layers)>& judge);

/// The layers that have to stay float for the goal, noisiest first: the fewest of the noisiest,
/// found by halving, less those that can return one by one, the least noisy first. `judge` is asked
/// with the layers kept. All of them if nothing less will do.
[[nodiscard]] Result<std::vector<OpId>> ChooseKept(
    const std::vector<LayerNoise>& ranking, const AccuracyGoal& goal,
    const std::function<Result<Accuracy>(const std::set<OpId>& kept)>& judge);

}  // namespace tenon::converter

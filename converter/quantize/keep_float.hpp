// Finds the layers that cost the most accuracy, so that they can stay float.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "converter/quantize/trial.hpp"

namespace tenon::converter {

/// A layer and the noise in the outputs if it alone is quantized.
struct LayerNoise {
  OpId layer = kNone;
  double noise = 0; /**< relative to the signal, of the output that suffers most */
};

/// Judges every layer of `chosen` alone as integers, with all else float. Returns the noisiest
/// first, ties in the graph's order. Errors: as of the judge.
[[nodiscard]] Result<std::vector<LayerNoise>> RankLayers(
    const IntegerOps& chosen, const std::vector<OpId>& order,
    const std::function<Result<Accuracy>(const std::set<OpId>& integer_layers)>& judge);

/// Returns the layers that have to stay float to reach the goal, noisiest first. Bisection finds
/// the fewest of the noisiest; then those that can be quantized after all are removed one by one,
/// the least noisy first. `judge` is called with the layers kept. Returns all layers if fewer do
/// not reach the goal.
[[nodiscard]] Result<std::vector<OpId>> ChooseKept(
    const std::vector<LayerNoise>& ranking, const AccuracyGoal& goal,
    const std::function<Result<Accuracy>(const std::set<OpId>& kept)>& judge);

}  // namespace tenon::converter

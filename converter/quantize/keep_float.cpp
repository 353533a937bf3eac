#include "converter/quantize/keep_float.hpp"

#include <algorithm>
#include <cmath>

namespace tenon::converter {

Result<std::vector<LayerNoise>> RankLayers(
    const IntegerOps& chosen, const std::vector<OpId>& order,
    const std::function<Result<Accuracy>(const std::set<OpId>& integer_layers)>& judge) {
  std::vector<LayerNoise> ranking;
  for (const OpId id : order) {
    if (!chosen.Has(id)) continue;
    TENON_ASSIGN_OR_RETURN(const Accuracy accuracy, judge({id}));
    ranking.push_back({id, std::pow(10.0, -accuracy.decibel / 10)});
  }
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const LayerNoise& a, const LayerNoise& b) { return a.noise > b.noise; });
  return ranking;
}

Result<std::vector<OpId>> ChooseKept(
    const std::vector<LayerNoise>& ranking, const AccuracyGoal& goal,
    const std::function<Result<Accuracy>(const std::set<OpId>& kept)>& judge) {
  const auto noisiest = [&](size_t count) {
    std::set<OpId> kept;
    for (size_t i = 0; i < count; ++i) kept.insert(ranking[i].layer);
    return kept;
  };
  size_t too_few = 0;
  size_t enough = ranking.size();
  // Doubling first: mostly a few are enough, and trials with many kept say nothing then.
  for (size_t step = 1; too_few + step < enough; step *= 2) {
    const size_t count = too_few + step;
    TENON_ASSIGN_OR_RETURN(const Accuracy accuracy, judge(noisiest(count)));
    if (accuracy.Reaches(goal)) {
      enough = count;
      break;
    }
    too_few = count;
  }
  while (too_few + 1 < enough) {
    const size_t count = (too_few + enough) / 2;
    TENON_ASSIGN_OR_RETURN(const Accuracy accuracy, judge(noisiest(count)));
    (accuracy.Reaches(goal) ? enough : too_few) = count;
  }
  // Layers affect each other, so that a few may be quantized again once the others are float.
  std::set<OpId> kept = noisiest(enough);
  for (size_t i = enough; i-- > 0;) {
    std::set<OpId> fewer = kept;
    fewer.erase(ranking[i].layer);
    TENON_ASSIGN_OR_RETURN(const Accuracy accuracy, judge(fewer));
    if (accuracy.Reaches(goal)) kept = std::move(fewer);
  }
  std::vector<OpId> result;
  for (const LayerNoise& entry : ranking) {
    if (kept.contains(entry.layer)) result.push_back(entry.layer);
  }
  return result;
}

}  // namespace tenon::converter

#include "converter/solve/stage/balance.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

namespace tenon::converter {
namespace {

Picoseconds TimeIn(const StageProblem& problem, const StageCut& cut, size_t op) {
  const auto stage = static_cast<size_t>(cut.stage_of_op[op]);
  return problem.time[op][static_cast<size_t>(cut.unit_of_stage[stage])];
}

std::vector<Picoseconds> OpTimesOfStages(const StageProblem& problem, const StageCut& cut) {
  std::vector<Picoseconds> times(cut.unit_of_stage.size(), 0);
  for (size_t op = 0; op < problem.ops(); ++op) {
    times[static_cast<size_t>(cut.stage_of_op[op])] += TimeIn(problem, cut, op);
  }
  return times;
}

}  // namespace

double BalanceRate(const StageCut& cut) {
  std::map<int32_t, Picoseconds> busy;
  for (size_t s = 0; s < cut.stage_time.size(); ++s) {
    busy[cut.unit_of_stage[s]] += cut.stage_time[s];
  }
  if (busy.size() < 2) return 1;
  const auto [least, most] = std::minmax_element(
      busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->second > 0 ? static_cast<double>(least->second) / static_cast<double>(most->second)
                          : 1;
}

double BalanceBound(const StageProblem& problem, const StageCut& cut) {
  const size_t units = std::set<int32_t>(cut.unit_of_stage.begin(), cut.unit_of_stage.end()).size();
  if (units < 2) return 1;
  Picoseconds total = 0;
  Picoseconds longest = 0;
  for (size_t op = 0; op < problem.ops(); ++op) {
    total += TimeIn(problem, cut, op);
    longest = std::max(longest, TimeIn(problem, cut, op));
  }
  if (longest == 0) return 1;
  const auto rest = static_cast<double>(total - longest) / static_cast<double>(units - 1);
  return std::min(1.0, rest / static_cast<double>(longest));
}

void TakeBuiltTimes(const StageCut& cut, const std::vector<Picoseconds>& built,
                    StageProblem& problem) {
  const std::vector<Picoseconds> of_ops = OpTimesOfStages(problem, cut);
  const auto first_equal = [&](int32_t unit) {
    while (problem.units[static_cast<size_t>(unit)].same_as >= 0) {
      unit = problem.units[static_cast<size_t>(unit)].same_as;
    }
    return unit;
  };
  for (size_t op = 0; op < problem.ops(); ++op) {
    const auto stage = static_cast<size_t>(cut.stage_of_op[op]);
    if (of_ops[stage] <= 0) continue;
    // What a stage takes beside its ops is no op's.
    const Picoseconds beside = cut.stage_time[stage] - of_ops[stage];
    const Picoseconds ops_took = std::max(built[stage] - beside, of_ops[stage] / 8);
    const double factor = static_cast<double>(ops_took) / static_cast<double>(of_ops[stage]);
    const int32_t unit = first_equal(cut.unit_of_stage[stage]);
    for (size_t u = 0; u < problem.units.size(); ++u) {
      if (first_equal(static_cast<int32_t>(u)) != unit || !problem.Runs(op, u)) continue;
      problem.time[op][u] =
          static_cast<Picoseconds>(static_cast<double>(problem.time[op][u]) * factor);
    }
  }
}

}  // namespace tenon::converter

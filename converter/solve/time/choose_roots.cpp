#include <algorithm>
#include <numeric>

#include "converter/solve/time/time_schedule.hpp"
#include "converter/solve/time/time_search.hpp"

namespace tenon::converter {

bool ImproveRoots(TimeProblem& problem, const std::vector<Index>& order,
                  const std::vector<bool>& fixed, int64_t work) {
  std::vector<Index> by_size;
  for (Index s = 0; s < problem.storages.size(); ++s) {
    if (!fixed[s]) by_size.push_back(s);
  }
  std::stable_sort(by_size.begin(), by_size.end(), [&](Index a, Index b) {
    return problem.storages[a].bytes > problem.storages[b].bytes;
  });
  const TimeOutcome first = TimeEvaluator(problem).Evaluate(order);
  Picoseconds best = first.fits ? first.makespan : INT64_MAX;
  bool any = false;
  bool changed = true;
  // A new evaluator takes about as long as two evaluations.
  const auto cost = 3 * static_cast<int64_t>(order.size());
  while (changed && work > 0) {
    changed = false;
    for (const Index s : by_size) {
      if ((work -= cost) <= 0) break;
      bool& slow = problem.storages[s].slow;
      slow = !slow;
      const TimeOutcome outcome = TimeEvaluator(problem).Evaluate(order, best);
      if (outcome.fits && outcome.makespan < best) {
        best = outcome.makespan;
        any = changed = true;
      } else {
        slow = !slow;
      }
    }
  }
  return any;
}

}  // namespace tenon::converter

#include "sdk/tools/predicted_times.hpp"

#include <algorithm>
#include <utility>

#include "sdk/tools/json.hpp"
#include "sdk/tools/plan_json.hpp"

namespace tenon::tool {

std::vector<std::optional<double>> PredictedOps(const Json& plan) {
  std::vector<std::optional<double>> times(plan["ops"].size());
  const Json recorded = JsonAt(plan, "/decisions/time/op_ms");
  // Plans of older converters have none.
  if (!recorded.is_array() || recorded.size() != times.size()) return times;
  for (size_t i = 0; i < times.size(); ++i) {
    if (recorded[i].is_number()) times[i] = recorded[i].get<double>();
  }
  return times;
}

namespace {

/// Lets the workers of a plan take turns, each as far as its waits allow. (The plan check has shown
/// that they come to an end.)
class TaskClock {
 public:
  explicit TaskClock(const Json& plan)
      : plan_(plan), costs_(PredictedOps(plan)), ends_(plan["workers"].size()) {
    times_.resize(plan["ops"].size());
  }

  std::vector<PredictedTime> Run() {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (size_t worker = 0; worker < ends_.size(); ++worker) {
        while (RunStep(worker)) goes_on = true;
      }
    }
    return std::move(times_);
  }

 private:
  /// Runs the worker's next step; false: it has none, or waits.
  bool RunStep(size_t worker) {
    const Json& steps = plan_["workers"][worker]["steps"];
    std::vector<double>& ends = ends_[worker];
    if (ends.size() == steps.size()) return false;
    const Json& step = steps[ends.size()];
    double start = ends.empty() ? 0 : ends.back();
    for (const Json& wait : step.value("waits", Json::array())) {
      const std::vector<double>& others = ends_[wait["worker"].get<size_t>()];
      const auto before = wait["step"].get<size_t>();
      if (before >= others.size()) return false;
      start = std::max(start, others[before]);
    }
    const auto op = step["op"].get<size_t>();
    const std::optional<double>& cost = costs_[op];
    times_[op] = {start, cost.value_or(0), cost.has_value()};
    ends.push_back(start + times_[op].ms);
    return true;
  }

  const Json& plan_;
  std::vector<std::optional<double>> costs_;  ///< by op
  std::vector<std::vector<double>> ends_;     ///< of the steps done, by worker
  std::vector<PredictedTime> times_;
};

}  // namespace

std::vector<std::string> WorkersOfOps(const Json& plan) {
  std::vector<std::string> workers(plan["ops"].size());
  for (const Json& worker : plan["workers"]) {
    for (const Json& step : worker["steps"]) {
      workers[step["op"].get<size_t>()] = worker["name"].get<std::string>();
    }
  }
  return workers;
}

std::vector<PredictedTime> PredictedTimes(const Json& plan) {
  if (plan["decisions"].is_null()) return {};
  return TaskClock(plan).Run();
}

}  // namespace tenon::tool

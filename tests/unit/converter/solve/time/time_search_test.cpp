#include "converter/solve/time/time_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "converter/solve/time/segment_search.hpp"
#include "converter/solve/time/task_steps.hpp"
#include "converter/solve/time/time_orders.hpp"
#include "converter/solve/time/time_schedule.hpp"
#include "tests/support/progress_log.hpp"
#include "tests/unit/converter/solve/time/time_problems.hpp"

namespace tenon::converter {
namespace {

bool RespectsPredecessors(const TimeProblem& problem, const std::vector<Index>& order) {
  std::vector<bool> done(problem.tasks.size(), false);
  for (const Index t : order) {
    for (const Index p : problem.tasks[t].predecessors) {
      if (!done[p]) return false;
    }
    done[t] = true;
  }
  return order.size() == problem.tasks.size();
}

/// The smallest makespan of all permutations, one by one.
Picoseconds BestOfAll(const TimeProblem& problem) {
  TimeEvaluator evaluator(problem);
  std::vector<Index> order(problem.tasks.size());
  std::iota(order.begin(), order.end(), Index{0});
  Picoseconds best = INT64_MAX;
  do {
    if (!RespectsPredecessors(problem, order)) continue;
    const TimeOutcome outcome = evaluator.Evaluate(order);
    if (outcome.fits) best = std::min(best, outcome.makespan);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TimeProblem SmallProblem(uint64_t seed) {
  RandomTimeSettings settings;
  settings.tasks = 5 + static_cast<Index>(seed % 4);
  settings.units = 1 + static_cast<Index>(seed % 3);
  settings.most_inputs = 1 + static_cast<int>(seed % 2);
  return RandomTimeProblem(1000 + seed, settings);
}

TEST_CASE("the chosen order is the best of all orders of small problems, and says so") {
  int better_than_source = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const TimeProblem problem = SmallProblem(seed);
    const TimeOrder found = FindTimeOrder(problem, {});
    CAPTURE(seed);
    REQUIRE(found.chosen.has_value());
    CHECK(*found.chosen == BestOfAll(problem));
    CHECK(found.exact);
    CHECK(TimeEvaluator(problem).Evaluate(found.order).makespan == *found.chosen);
    better_than_source += *found.chosen < *found.source ? 1 : 0;
  }
  CHECK(better_than_source > 10);
}

TEST_CASE("the bound is never above the best of all orders, and often equal to it") {
  int tight = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const TimeProblem problem = SmallProblem(seed);
    const Picoseconds best = BestOfAll(problem);
    const TimeBound bound = TimeBoundOf(problem);
    CAPTURE(seed);
    CHECK(bound.bound <= best);
    CHECK(bound.critical_path <= bound.bound);
    CHECK(bound.busiest_unit <= bound.bound);
    tight += bound.bound == best ? 1 : 0;
  }
  CHECK(tight > 15);
}

TEST_CASE("the stochastic search finds the best of all orders of small problems") {
  int found_best = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const TimeProblem problem = SmallProblem(seed);
    TimeSearchOptions options;
    options.count_budget = 1;  // the orders are not counted, so they are not all tried
    options.work_budget = 40'000;
    found_best += *FindTimeOrder(problem, options).chosen == BestOfAll(problem) ? 1 : 0;
  }
  CHECK(found_best >= 38);
}

TEST_CASE("the chosen order is never worse than source order, random orders or list scheduling") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomTimeSettings settings;
    settings.tasks = 60;
    settings.units = 3;
    const TimeProblem problem = RandomTimeProblem(seed, settings);
    TimeSearchOptions options;
    options.work_budget = 60'000;
    const TimeOrder found = FindTimeOrder(problem, options);
    CAPTURE(seed);
    CHECK(RespectsPredecessors(problem, found.order));
    CHECK(*found.chosen <= *found.source);
    CHECK(*found.chosen <= *found.random);
    CHECK(*found.chosen <= *found.list);
    CHECK(*found.chosen >= found.bound.bound);
  }
}

TEST_CASE("the same problem and seed give the same order") {
  RandomTimeSettings settings;
  settings.tasks = 50;
  const TimeProblem problem = RandomTimeProblem(7, settings);
  TimeSearchOptions options;
  options.work_budget = 50'000;
  CHECK(FindTimeOrder(problem, options).order == FindTimeOrder(problem, options).order);
}

TEST_CASE("the search stops at the first order that is short enough") {
  RandomTimeSettings settings;
  settings.tasks = 50;
  const TimeProblem problem = RandomTimeProblem(7, settings);
  TimeSearchOptions options;
  options.target = INT64_MAX;
  const TimeOrder found = FindTimeOrder(problem, options);
  CHECK(found.tried < 20);  // the baselines
}

/// Blocks between key nodes, all alike: unit 0 had better wait for its second task than begin with
/// the first, which a bound that allows interruptions does not see.
TimeProblem Blocks(int count) {
  TimeProblem problem;
  problem.units = 2;
  problem.fast_bytes = 100'000;
  const auto add = [&](Index unit, Picoseconds duration, std::vector<Index> before) {
    const auto number = static_cast<Index>(problem.tasks.size());
    problem.storages.push_back({64, false, false, false});
    problem.values.push_back({number, 64, 10, 10, false, false, {number}});
    problem.tasks.push_back({unit, duration, before, before, {number}, 0, {}});
    return number;
  };
  Index last = add(0, 10, {});
  for (int i = 0; i < count; ++i) {
    const Index waiting = add(1, 10, {last});
    const Index large = add(0, 100, {last});
    const Index urgent = add(0, 30, {waiting});
    const std::vector<Index> ends = {large, add(1, 80, {urgent})};
    last = add(0, 10, ends);
  }
  return problem;
}

TEST_CASE("identical subgraphs are searched once") {
  const TimeProblem problem = Blocks(12);
  TimeSearchOptions options;
  options.work_budget = 200'000;
  const TimeOrder found = FindTimeOrder(problem, options);
  size_t shared = 0;
  for (const TimeSubgraph& subgraph : found.subgraphs) shared += subgraph.shared ? 1 : 0;
  CHECK(found.subgraphs.size() >= 12);
  CHECK(shared >= found.subgraphs.size() - 3);
}

TEST_CASE("where memory has room for all, more orders than can be listed are searched exactly") {
  int better = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomTimeSettings settings;
    settings.tasks = 18;
    settings.units = 3;
    TimeProblem problem = RandomTimeProblem(seed, settings);
    for (TimeTask& task : problem.tasks) task.reads.clear();
    for (TimeValue& value : problem.values) value.to_end = false;
    for (TimeStorage& storage : problem.storages) storage.slow = false;
    problem.fast_bytes = int64_t{1} << 40;
    const TimeOrder found = FindTimeOrder(problem, {});
    const SegmentSearch best = SearchSegments(WithoutMemory(problem), {});
    CAPTURE(seed);
    REQUIRE(best.exact);
    CHECK(found.exact);
    CHECK(*found.chosen == best.time);
    if (*found.chosen < std::min(*found.source, *found.list)) ++better;
  }
  CHECK(better > 5);
}

TEST_CASE("what a unit still has to do delays the tasks of a part, and no others") {
  TimeProblem part;
  part.units = 2;
  part.fast_bytes = 1000;
  part.tasks = {{0, 10, {}, {}, {}, 0, {}}, {1, 20, {}, {}, {}, 0, {}}};
  CHECK(TimeEvaluator(part).Evaluate({0, 1}).makespan == 20);
  part.busy = {15, 0};
  CHECK(TimeEvaluator(part).Evaluate({0, 1}).makespan == 25);
  part.busy = {3, 7};
  CHECK(TimeEvaluator(part).Evaluate({0, 1}).makespan == 27);
  TimeProblem idle = part;
  idle.busy.clear();
  CHECK(CanonicalForm(idle) != CanonicalForm(part));
}

TEST_CASE("a graph without key nodes is searched in parts that forks and joins bound") {
  RandomTimeSettings settings;
  settings.tasks = 300;
  settings.units = 3;
  const TimeProblem problem = RandomTimeProblem(11, settings);
  TimeSearchOptions options;
  options.work_budget = 200'000;
  options.largest_subgraph = 40;
  const TimeOrder found = FindTimeOrder(problem, options);
  REQUIRE(found.chosen.has_value());
  CHECK(RespectsPredecessors(problem, found.order));
  CHECK(found.subgraphs.size() >= 300 / 40);
  size_t tasks = 0;
  for (const TimeSubgraph& subgraph : found.subgraphs) {
    CHECK(subgraph.tasks <= 40);
    tasks += subgraph.tasks;
  }
  CHECK(tasks == 300);
}

TEST_CASE("an order of ten thousand tasks is found within its budget") {
  const TimeProblem problem = Blocks(2050);
  REQUIRE(problem.tasks.size() > 10'000);
  TimeSearchOptions options;
  options.work_budget = 500'000;
  const TimeOrder found = FindTimeOrder(problem, options);
  CHECK(*found.chosen <= *found.source);
  CHECK(found.tried * static_cast<int64_t>(problem.tasks.size()) <= 600'000);
}

TEST_CASE("progress of a search goes up to its budget, and is silent without a search") {
  test::ProgressLog log;
  TimeSearchOptions options;
  options.work_budget = 200'000;
  options.progress = log.Listener();
  // So little memory that no bound is reached.
  RandomTimeSettings settings;
  settings.tasks = 60;
  const TimeProblem problem = RandomTimeProblem(3, settings);
  const TimeOrder found = FindTimeOrder(problem, options);
  CHECK(log.IsOrderly());
  REQUIRE_FALSE(found.exact);
  CHECK(log.shares().size() > 10);
  CHECK(log.shares().back() > 0.5);

  test::ProgressLog silent;
  options.progress = silent.Listener();
  options.target = *found.source;  // good enough before any search
  (void)FindTimeOrder(problem, options);
  (void)FindTimeOrder({}, options);
  CHECK(silent.shares().empty());
}

TEST_CASE("nothing to do takes no time") {
  const TimeOrder found = FindTimeOrder({}, {});
  CHECK(*found.chosen == 0);
  CHECK(found.exact);
}

}  // namespace
}  // namespace tenon::converter

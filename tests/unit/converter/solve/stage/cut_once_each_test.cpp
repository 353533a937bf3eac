#include "converter/solve/stage/cut_once_each.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "tests/unit/converter/solve/stage/stage_problems.hpp"

namespace tenon::converter {
namespace {

/// Ops of given times on given units, a cut point before each; handing over takes nothing.
struct Ops {
  std::vector<StageUnit> units;
  std::vector<std::vector<Picoseconds>> time;  ///< by op and unit

  [[nodiscard]] StageTimes Times() const {
    StageTimes times;
    times.points = time.size() + 1;
    times.runs = [this](size_t from, size_t to, size_t unit) {
      return std::none_of(time.begin() + static_cast<ptrdiff_t>(from),
                          time.begin() + static_cast<ptrdiff_t>(to),
                          [&](const auto& of_op) { return of_op[unit] == kCannotRun; });
    };
    times.read_and_run = [this](size_t from, size_t to, size_t unit) {
      Picoseconds sum = units[unit].start;
      for (size_t op = from; op < to; ++op) sum += time[op][unit];
      return sum;
    };
    times.write = [](size_t, size_t, size_t) -> Picoseconds { return 0; };
    return times;
  }
};

Picoseconds PeriodOf(const StageTimes& times, const std::vector<OnceEachStage>& stages) {
  Picoseconds period = 0;
  size_t begin = 0;
  for (const OnceEachStage& stage : stages) {
    period = std::max(period, times.read_and_run(begin, stage.end, stage.unit));
    begin = stage.end;
  }
  return period;
}

/// The least period of that many stages on different units, by looking at all; -1: there are none.
Picoseconds LeastOfAll(const Ops& ops, size_t begin, size_t stages, uint32_t used) {
  if (stages == 0) return begin == ops.time.size() ? 0 : -1;
  const StageTimes times = ops.Times();
  Picoseconds least = -1;
  for (size_t unit = 0; unit < ops.units.size(); ++unit) {
    if ((used >> unit & 1U) != 0) continue;
    for (size_t end = begin + 1; end <= ops.time.size(); ++end) {
      if (!times.runs(begin, end, unit)) break;
      const Picoseconds rest = LeastOfAll(ops, end, stages - 1, used | 1U << unit);
      if (rest < 0) continue;
      const Picoseconds period = std::max(rest, times.read_and_run(begin, end, unit));
      if (least < 0 || period < least) least = period;
    }
  }
  return least;
}

TEST_CASE("CutOnceEach: the least period of every cut in which no unit has two stages") {
  int several = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const bool cores = seed % 2 == 0;
    const StageProblem problem = RandomStageProblem(
        seed, {.ops = 7, .units = 3, .cores = cores, .transfers = false, .cannot_percent = 20});
    const Ops ops = {problem.units, problem.time};
    const auto cuts = CutOnceEach(ops.units, ops.Times(), 3);
    REQUIRE(cuts.size() == 4);
    for (size_t stages = 1; stages <= 3; ++stages) {
      const Picoseconds least = LeastOfAll(ops, 0, stages, 0);
      CHECK(cuts[stages].empty() == (least < 0));
      if (cuts[stages].empty()) continue;
      CHECK(cuts[stages].size() == stages);
      CHECK(cuts[stages].back().end == 7);
      CHECK(PeriodOf(ops.Times(), cuts[stages]) == least);
      several += stages > 1 ? 1 : 0;
    }
  }
  CHECK(several > 60);
}

TEST_CASE("CutOnceEach: equal units are taken in their order") {
  Ops ops;
  ops.units.resize(3);
  ops.units[1].same_as = 0;
  ops.units[2].same_as = 1;
  ops.time.assign(6, {10, 10, 10});
  const auto cuts = CutOnceEach(ops.units, ops.Times(), 8);
  REQUIRE(cuts[3].size() == 3);
  for (size_t s = 0; s < 3; ++s) {
    CHECK(cuts[3][s].unit == s);
    CHECK(cuts[3][s].end == 2 * (s + 1));
  }
  CHECK(cuts[4].empty());
}

TEST_CASE("CutStages: hundreds of ops on four cores and a device are cut as well as they can be") {
  StageProblem problem = RandomStageProblem(3, {.ops = 200, .units = 1, .transfers = false});
  problem.most_stages = 8;
  problem.units.resize(5);
  for (StageUnit& unit : problem.units) unit.start = 0;
  for (int32_t u = 1; u < 4; ++u) problem.units[static_cast<size_t>(u)].same_as = u - 1;
  Picoseconds total = 0;
  for (auto& time : problem.time) {
    time.assign(4, time[0]);
    time.push_back(time[0] * 40);  // of no use
    total += time[0];
  }
  const auto cut = CutStages(problem, {.work_budget = 200'000});
  REQUIRE(cut.has_value());
  CHECK(static_cast<double>(cut->period) < 1.1 * static_cast<double>(total) / 4);
}

}  // namespace
}  // namespace tenon::converter

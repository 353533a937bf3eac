// Which of the cuts that fit a limit are found: the one that is predicted to run fastest, and those
// between the ones that are aimed at.
#include <doctest/doctest.h>

#include <vector>

#include "converter/split/patch_plan.hpp"
#include "tests/unit/converter/split/chain_testing.hpp"

namespace tenon::converter {
namespace {

TEST_CASE("Memory fit: of what fits the fastest as predicted, whatever it costs by the prices") {
  // Finer cuts leave a faster kernel to the ops, as Winograd's.
  const Graph whole = test::Hourglass(1);
  const int64_t uncut = PatchPlanner(whole, {}).UnsplitPeak();
  const int64_t fast_below = uncut * 7 / 16;
  REQUIRE(SmallestTarget(whole, {}) < uncut / 4);
  const MeasureMemory measure = [&](const Graph&, const MemorySplit& split) -> Result<MeasuredCut> {
    if (split.chains.empty()) return MeasuredCut(uncut, 100);
    return MeasuredCut(split.estimated_peak, split.target_bytes <= fast_below ? 110 : 200);
  };
  for (int64_t eighths = 4; eighths < 8; ++eighths) {
    CAPTURE(eighths);
    Graph graph = whole;
    const int64_t limit = uncut * eighths / 8;
    const auto fit = FitMemory(graph, limit, {}, measure, Wanted::kCheapest);
    REQUIRE(fit.ok());
    CHECK(fit->measured_bytes <= limit);
    CHECK(fit->predicted_time == 110);
  }
}

TEST_CASE("Memory fit: once the time is up a few plans are tried, until one fits") {
  const Graph whole = test::Hourglass(1);
  int measured = 0;
  const MeasureMemory measure = [&](const Graph&, const MemorySplit& split) {
    ++measured;
    return Result<MeasuredCut>(split.estimated_peak);
  };
  MemorySplitOptions options;
  options.time_limit = TimeLimit::After(0);
  Graph graph = whole;
  const auto refused = FitMemory(graph, 0, options, measure);
  REQUIRE(refused.ok());
  CHECK(measured == 4);
  measured = 0;
  graph = whole;
  const int64_t unsplit = PatchPlanner(whole, options).UnsplitPeak();
  const auto fit = FitMemory(graph, unsplit - 1, options, measure);
  REQUIRE(fit.ok());
  CHECK(fit->measured_bytes < unsplit);
  CHECK(measured == 2);  // the uncut graph and one plan
}

TEST_CASE("Memory fit: once the time is up no more is estimated than the least work") {
  const Graph whole = test::Hourglass(1);
  MemorySplitOptions options;
  options.time_limit = TimeLimit::After(0);
  PatchPlanner planner(whole, options);
  CHECK(planner.Plan(planner.UnsplitPeak() / 2).fits);
  options.least_work = 0;
  PatchPlanner idle(whole, options);
  CHECK_FALSE(idle.Plan(idle.UnsplitPeak() / 2).fits);
}

TEST_CASE("Memory fit: the only plan that fits is found between others that need far more") {
  const Graph whole = test::Hourglass(1);
  PatchPlanner planner(whole, {});
  std::vector<int64_t> peaks;  // of all plans, each the cheapest below the one before it
  for (int64_t target = planner.UnsplitPeak() / 2;;) {
    const MemorySplit split = planner.Plan(target);
    if (!split.fits) break;
    peaks.push_back(split.estimated_peak);
    target = split.estimated_peak - 1;
  }
  REQUIRE(peaks.size() > 4);
  for (const size_t only : {1, 2, 3}) {
    CAPTURE(only);
    const int64_t limit = peaks[0];
    const MeasureMemory measure = [&](const Graph&, const MemorySplit& split) {
      const bool fits = split.estimated_peak == peaks[only];
      return Result<MeasuredCut>(fits ? limit : 2 * limit - peaks.back());
    };
    Graph graph = whole;
    const auto fit = FitMemory(graph, limit, {}, measure);
    REQUIRE(fit.ok());
    CHECK(fit->measured_bytes == limit);
    CHECK(fit->split.estimated_peak == peaks[only]);
  }
}

}  // namespace
}  // namespace tenon::converter

// Of all cuts that fit a limit, the one that is predicted to run fastest.
#include <doctest/doctest.h>

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

}  // namespace
}  // namespace tenon::converter

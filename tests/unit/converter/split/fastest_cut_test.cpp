// Of all cuts that fit a limit, the one that is predicted to run fastest.
#include <doctest/doctest.h>

#include <utility>

#include "converter/ir/text.hpp"
#include "converter/split/patch_plan.hpp"

namespace tenon::converter {
namespace {

/// A narrow input, wide images, a narrow output.
Graph Hourglass() {
  auto graph = ParseGraph(R"(graph g
input %x: f32[1,1,16,4]
const %w: f32[16,1,3,3] = random(1)
const %v: f32[16,16,3,3] = random(1)
const %u: f32[1,16,1,1] = random(1)
%a = conv(%x, %w) {pads=[1,1,1,1]}
%b = conv(%a, %v) {pads=[1,1,1,1]}
%c = conv(%b, %u)
output %c
)");
  REQUIRE(graph.ok());
  return std::move(*graph);
}

TEST_CASE("Memory fit: of what fits the fastest as predicted, whatever it costs by the prices") {
  // Finer cuts leave a faster kernel to the ops, as Winograd's.
  const Graph whole = Hourglass();
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

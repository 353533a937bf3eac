#include "converter/split/traffic_chains.hpp"

#include "converter/ir/text.hpp"
#include "tests/unit/converter/split/chain_testing.hpp"

namespace tenon::converter {
namespace {

using test::OutputsOf;
using test::RandomInputs;
using test::RandomNetwork;

/// Two sums of images of 16 KiB, each the input of two convolutions.
Graph TwoStretches() {
  auto graph = ParseGraph(R"(graph g
input %x: f32[1,16,16,16]
const %w: f32[16,16,3,3] = random(1)
const %v: f32[16,16,1,1] = random(2)
%a = conv(%x, %w) {pads=[1,1,1,1]}
%b = conv(%a, %v)
%c = binary(%b, %x)
%d = conv(%c, %w) {pads=[1,1,1,1]}
%e = conv(%d, %v)
%y = binary(%e, %a)
output %y
)");
  if (!graph.ok()) FAIL(graph.error().message);
  return std::move(*graph);
}

constexpr int64_t kStretchImage = 16 * 16 * 16 * 4;

TEST_CASE("Traffic: a graph that fast memory has space for stays as it is") {
  Graph graph = TwoStretches();
  const std::string before = PrintGraph(graph);
  const auto split = CutForTraffic(graph, {.fast_bytes = 8 * kStretchImage});
  REQUIRE(split.ok());
  CHECK(split->chains.empty());
  CHECK(PrintGraph(graph) == before);
}

TEST_CASE(
    "Traffic: ops whose images do not fit together are cut into patches, with equal results") {
  const Graph whole = TwoStretches();
  Graph graph = whole;
  // The weights and a few rows of every image.
  TrafficOptions options;
  options.fast_bytes = 16 * 16 * 10 * 4 + kStretchImage;
  options.bytes_per_op = 16;
  const auto split = CutForTraffic(graph, options);
  REQUIRE(split.ok());
  REQUIRE_FALSE(split->chains.empty());
  CHECK(split->chains[0].ops >= 2);
  CHECK(split->chains[0].patching.parts >= 2);
  const auto inputs = RandomInputs(whole, 1);
  CHECK(OutputsOf(graph, inputs) == OutputsOf(whole, inputs));
}

TEST_CASE("Traffic: nothing is cut where patches cost more than they save") {
  Graph graph = TwoStretches();
  TrafficOptions options;
  options.fast_bytes = 16 * 16 * 10 * 4 + kStretchImage;
  options.bytes_per_op = 1e9;
  const auto split = CutForTraffic(graph, options);
  REQUIRE(split.ok());
  CHECK(split->chains.empty());
}

TEST_CASE("Traffic: random networks compute the same bits in patches") {
  int cut = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const Graph whole = RandomNetwork(seed).Make(12, 1);
    Graph graph = whole;
    TrafficOptions options;
    options.fast_bytes = 2048 << seed % 4;
    options.bytes_per_op = 16;
    const auto split = CutForTraffic(graph, options);
    CAPTURE(seed);
    REQUIRE(split.ok());
    cut += split->chains.empty() ? 0 : 1;
    const auto inputs = RandomInputs(whole, seed);
    CHECK(OutputsOf(graph, inputs) == OutputsOf(whole, inputs));
  }
  CHECK(cut >= 5);
}

}  // namespace
}  // namespace tenon::converter

#include <doctest/doctest.h>

#include "converter/layout/assign_locations.hpp"
#include "converter/layout/layouts.hpp"
#include "tests/support/parsed_graph.hpp"

namespace tenon::converter {
namespace {

/// The kernel that stands in for the only op on a device, its tensors dense in their layouts.
std::string StandIn(Graph& graph) {
  const OpId id = graph.OpOrder().back();
  graph.MutableOp(id).backend = "device";
  PassReport report;
  const auto locations = AssignLocations(graph, report);
  REQUIRE(locations.ok());
  REQUIRE(ChooseFallbackKernels(graph, *locations, 1, /*portable_only=*/false).ok());
  return graph.op(id).fallback_kernel;
}

TEST_CASE("TakesAsItLies: dense, row-major, channels-last, with and without gaps") {
  const Shape image({1, 8, 4, 6});
  const std::vector<int32_t> row_major = DenseStrides(image, Layout::kRowMajor);
  const std::vector<int32_t> channels_last = DenseStrides(image, Layout::kChannelsLast);
  const std::vector<int32_t> part = {16 * 24, 1, 16 * 6, 16};  // half of 16 channels
  CHECK(TakesAsItLies(LayoutNeed::kAny, image, part));
  CHECK(TakesAsItLies(LayoutNeed::kDense, image, row_major));
  CHECK(TakesAsItLies(LayoutNeed::kDense, image, channels_last));
  CHECK_FALSE(TakesAsItLies(LayoutNeed::kDense, image, part));
  CHECK(TakesAsItLies(LayoutNeed::kRowMajor, image, row_major));
  CHECK_FALSE(TakesAsItLies(LayoutNeed::kRowMajor, image, channels_last));
  CHECK(TakesAsItLies(LayoutNeed::kChannelsLast, image, channels_last));
  CHECK_FALSE(TakesAsItLies(LayoutNeed::kChannelsLast, image, row_major));
  CHECK_FALSE(TakesAsItLies(LayoutNeed::kChannelsLast, image, part));
  CHECK(TakesAsItLies(LayoutNeed::kChannelsLastStrided, image, part));
  CHECK_FALSE(TakesAsItLies(LayoutNeed::kChannelsLastStrided, image, row_major));
}

TEST_CASE(
    "ChooseFallbackKernels: a fast kernel where the operands lie as it wants, else a portable "
    "one") {
  constexpr const char* kConv = R"(graph g
input %x: f32[1,8,6,6]
const %w: f32[16,8,1,1] = random(1)
%y = conv(%x, %w)
output %y
)";
  Graph row_major = Parsed(kConv);
  CHECK(StandIn(row_major) == "cpu.conv.portable");
  Graph channels_last = Parsed(kConv);
  for (const TensorId id : {channels_last.inputs()[0].tensor, channels_last.outputs()[0].tensor}) {
    channels_last.MutableTensor(id).layout = Layout::kChannelsLast;
  }
  const std::string fast = StandIn(channels_last);
  CHECK(fast != "cpu.conv.portable");
  CHECK(fast.find("cpu.conv.") == 0);
}

TEST_CASE("ChooseFallbackKernels: ops on the CPU need none; ops that it cannot run are named") {
  Graph graph = Parsed(R"(graph g
input %x: f16[1,2,4,4]
%y = average_pool(%x) {kernel=[2,2]} "pool"
output %y
)");
  PassReport report;
  graph.MutableOp(graph.OpOrder()[0]).backend = "cpu";
  const auto locations = AssignLocations(graph, report);
  REQUIRE(locations.ok());
  CHECK(ChooseFallbackKernels(graph, *locations, 1, false).ok());
  CHECK(graph.op(graph.OpOrder()[0]).fallback_kernel.empty());
  graph.MutableOp(graph.OpOrder()[0]).backend = "device";
  const Status status = ChooseFallbackKernels(graph, *locations, 1, false);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().kind == ErrorKind::kInput);
  REQUIRE(status.error().details.size() == 1);
  CHECK(status.error().details[0].find("pool (average_pool):") == 0);
}

}  // namespace
}  // namespace tenon::converter

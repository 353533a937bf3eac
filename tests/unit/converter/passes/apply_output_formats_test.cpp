#include "converter/passes/apply_output_formats.hpp"

#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

constexpr const char* kImage = R"(input %x: f32[1,3,4,5]
%y = unary(%x) {function=neg}
%flat = reshape(%y) {dims=[1,60]}
output %y
output %flat
)";

/// Returns the graph, or what is wrong.
std::string Formatted(const std::vector<OutputFormat>& formats, bool channels_last = false) {
  Graph graph = Parsed(kImage);
  const Status status = ApplyOutputFormats(graph, formats, channels_last);
  if (!status.ok()) return status.error().message;
  if (Status valid = Verify(graph); !valid.ok()) FAIL(valid.error().message);
  return PrintedForTest(graph);
}

TEST_CASE("Output format: images leave with channels last, under the port's own name") {
  Graph graph = Parsed(kImage);
  REQUIRE(ApplyOutputFormats(graph, {{"y", true}}, /*images_channels_last=*/false).ok());
  CHECK(graph.outputs()[0].name == "y");
  const Tensor& turned = graph.tensor(graph.outputs()[0].tensor);
  CHECK(turned.shape == Shape({1, 4, 5, 3}));
  const Op& op = graph.op(turned.producer);
  CHECK(op.kind == OpKind::kTranspose);
  CHECK(graph.tensor(op.inputs[0]).name == "y");
}

TEST_CASE("Output format: a model with channels last turns them first") {
  Graph graph = Parsed(kImage);
  REQUIRE(ApplyOutputFormats(graph, {{"y", false}}, /*images_channels_last=*/true).ok());
  CHECK(graph.tensor(graph.outputs()[0].tensor).shape == Shape({1, 5, 3, 4}));
}

TEST_CASE("Output format: the model's own layout changes nothing") {
  CHECK(Formatted({{"y", false}}) == PrintedForTest(Parsed(kImage)));
  CHECK(Formatted({{"y", true}}, true) == PrintedForTest(Parsed(kImage)));
}

TEST_CASE("Output format: a state's value is no output, and stays as the next run reads it") {
  Graph graph = Parsed(R"(input %x: f32[1,4,4,4]
%y = unary(%x) {function=neg}
output %y
)");
  graph.states.push_back({"x", "y", nullptr});
  const Status status = ApplyOutputFormats(graph, {{"y", true}}, /*images_channels_last=*/false);
  REQUIRE(!status.ok());
  CHECK(status.error().message == "output format of 'y': it is a state, and no output of the plan");
}

TEST_CASE("Output format: says what does not fit") {
  CHECK(Formatted({{"z", true}}) == "output format of 'z': no such output; there are 'y', 'flat'");
  CHECK(Formatted({{"flat", true}}) ==
        "output format of 'flat': layouts are of rank 4, the output has rank 2");
  CHECK(Formatted({{"y", true}, {"y", true}}) == "output format of 'y': given twice");
  const auto parsed = ParseOutputFormat("y", "hwcn");
  REQUIRE(!parsed.ok());
  CHECK(parsed.error().message == "output format of 'y': 'hwcn' is neither nhwc nor nchw");
}

}  // namespace
}  // namespace tenon::converter

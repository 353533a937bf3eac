// Which backend an op is given: priorities, constraints, pins.
#include <doctest/doctest.h>

#include "converter/ir/text.hpp"
#include "converter/map/kernel_choice.hpp"
#include "converter/map/priority_table.hpp"
#include "tests/support/twin_backend.hpp"

namespace tenon::converter {
namespace {

constexpr const char* kGraph = R"(graph g
input %x: f32[1,4,8,8]
const %w: f32[4,4,3,3] = random(1)
const %v: f32[4,4,1,1] = random(2)
%a = conv(%x, %w) {pads=[1,1,1,1]} "layer1/conv"
%b = conv(%a, %v) "layer2/conv"
%c = max_pool(%b) {kernel=[2,2], strides=[2,2]} "layer2/pool"
%y = softmax(%c) {axis=1} "head"
output %y
)";

struct Case {
  Graph graph;
  Board board = test::TwinBoard();
  KernelChoiceOptions options;

  explicit Case(std::string_view text = kGraph) {
    auto parsed = ParseGraph(text);
    if (!parsed.ok()) FAIL(parsed.error().message);
    graph = std::move(*parsed);
    options.board = &board;
    options.backends = test::CpuAndTwin();
  }

  /// The ops' backends, in order.
  std::string Backends() {
    const auto mapping = ChooseKernels(graph, options);
    if (!mapping.ok()) return mapping.error().message;
    std::string names;
    for (const MappedOp& op : *mapping) names += (names.empty() ? "" : " ") + op.backend;
    return names;
  }
};

TEST_CASE("ChooseKernels: the board's best priority decides, for a backend from outside the tree") {
  Case with;
  CHECK(with.Backends() == "twin twin twin twin");
  const Op& op = with.graph.op(with.graph.OpOrder()[0]);
  CHECK(op.kernel == "twin.conv.portable");
  CHECK(&CapsOf(op) == op.caps);
  with.board.priorities = {{"twin", "*", 2}, {"cpu", "*", 1}};
  CHECK(with.Backends() == "cpu cpu cpu cpu");
}

TEST_CASE("ChooseKernels: an op's own rows stand instead of those for every op") {
  Case with;
  with.board.priorities = {{"twin", "*", 1}, {"cpu", "*", 2}, {"twin", "conv", 3}};
  CHECK(with.Backends() == "cpu cpu twin twin");
}

TEST_CASE("ChooseKernels: an op without a row for a backend is not given to it") {
  Case with;
  with.board.priorities = {{"twin", "conv", 1}, {"cpu", "*", 1}};
  CHECK(with.Backends() == "cpu cpu cpu cpu");
  with.board.priorities = {{"twin", "conv", 1}, {"cpu", "*", 2}};
  CHECK(with.Backends() == "twin twin cpu cpu");
  with.board.priorities = {{"twin", "conv", 1}};
  const auto mapping = ChooseKernels(with.graph, with.options);
  REQUIRE_FALSE(mapping.ok());
  CHECK(mapping.error().kind == ErrorKind::kInput);
  REQUIRE(mapping.error().details.size() == 2);
  CHECK(mapping.error().details[0].find("layer2/pool (max_pool):") == 0);
  CHECK(mapping.error().details[0].find("no row for max_pool on 'twin'") != std::string::npos);
}

TEST_CASE("ChooseKernels: equal priorities go to the unit that the board names first") {
  Case with;
  with.board.priorities = {{"twin", "*", 1}, {"cpu", "*", 1}};
  CHECK(with.Backends() == "cpu cpu cpu cpu");
  std::swap(with.board.units[0], with.board.units[1]);
  CHECK(with.Backends() == "twin twin twin twin");
}

TEST_CASE("ChooseKernels: a row holds only for ops within its constraints") {
  const auto with = [](const PriorityConstraints& when) {
    Case one;
    one.board.priorities = {{"twin", "*", 1, when}, {"cpu", "*", 2}};
    return one.Backends();
  };
  PriorityConstraints when;
  when.max_kernel = 2;
  CHECK(with(when) == "cpu twin twin twin");
  when = {};
  when.min_kernel = 1;
  CHECK(with(when) == "twin twin twin cpu");
  when = {};
  when.dtypes = {"f16"};
  CHECK(with(when) == "cpu cpu cpu cpu");
  when.dtypes = {"f16", "f32"};
  CHECK(with(when) == "twin twin twin twin");
  when = {};
  when.rank = 3;
  CHECK(with(when) == "cpu cpu cpu cpu");
  when = {};
  when.min_channels = 5;
  CHECK(with(when) == "cpu cpu cpu cpu");
  when = {};
  when.max_channels = 4;
  CHECK(with(when) == "twin twin twin twin");
  when = {};
  when.min_elements = 4 * 8 * 8;
  CHECK(with(when) == "twin twin cpu cpu");
  when = {};
  when.max_elements = 4 * 4 * 4;
  CHECK(with(when) == "cpu cpu twin twin");
}

TEST_CASE("RankingOf: the first of an op's rows that holds counts, and a breach is told") {
  Case with;
  PriorityConstraints small;
  small.max_kernel = 2;
  with.board.priorities = {{"twin", "conv", 5, small}, {"twin", "conv", 7}, {"cpu", "*", 1}};
  const std::vector<OpId> order = with.graph.OpOrder();
  CHECK(RankingOf(with.board, "twin", with.graph, with.graph.op(order[0])).priority == 7);
  CHECK(RankingOf(with.board, "twin", with.graph, with.graph.op(order[1])).priority == 5);
  with.board.priorities[1].when = small;
  const Ranking none = RankingOf(with.board, "twin", with.graph, with.graph.op(order[0]));
  CHECK(none.priority == 0);
  CHECK(none.reason == "the board's priority table: a kernel of 3 is above 2");
}

TEST_CASE("ChooseKernels: every backend stands among the candidates, with time and reason") {
  Case with;
  const AnalyticCostModel costs(with.board);
  with.options.costs = &costs;
  const auto mapping = ChooseKernels(with.graph, with.options);
  REQUIRE(mapping.ok());
  const MappedOp& head = mapping->back();
  CHECK(head.op == "head");
  CHECK(head.kernel == "twin.softmax.portable");
  REQUIRE(head.candidates.size() >= 2);
  const Candidate& chosen = head.candidates.back();
  CHECK(chosen.backend == "twin");
  CHECK(chosen.priority == 1);
  CHECK(chosen.reason.empty());
  const Candidate& other = head.candidates[head.candidates.size() - 2];
  CHECK(other.backend == "cpu");
  CHECK(other.priority == 2);
  CHECK(other.reason == "priority 2, 'twin' has 1");
  REQUIRE(chosen.ms.has_value());
  REQUIRE(other.ms.has_value());
  CHECK(*chosen.ms - *other.ms == doctest::Approx(0.0009));  // what each pays to be enqueued
}

TEST_CASE("ChooseKernels: a backend that the converter does not know is passed over, and why") {
  Case with;
  with.options.backends.pop_back();
  const auto mapping = ChooseKernels(with.graph, with.options);
  REQUIRE(mapping.ok());
  CHECK(mapping->front().backend == "cpu");
  CHECK(mapping->front().candidates.back().reason ==
        "this converter does not know the kernels of 'twin'");
}

TEST_CASE("Pins: they beat the table, the last match wins") {
  Case with;
  with.options.pins = {{"layer*", "cpu"}, {"layer2/*", "twin"}};
  CHECK(with.Backends() == "cpu twin twin twin");
  with.options.pins = {{"layer?/conv", "cpu"}};
  CHECK(with.Backends() == "cpu cpu twin twin");
  with.board.priorities = {{"cpu", "*", 1}};
  with.options.pins = {{"head", "twin"}};
  CHECK(with.Backends() == "cpu cpu cpu twin");
}

TEST_CASE("Pins: a part of an op that was split is pinned by the op's name") {
  CHECK(PinMatches({"conv_3", "cpu"}, "conv_3/part_1"));
  CHECK(PinMatches({"conv_3", "cpu"}, "conv_3/join"));
  CHECK_FALSE(PinMatches({"conv_3", "cpu"}, "conv_31"));
  CHECK_FALSE(PinMatches({"conv_3", "cpu"}, "conv_3/other"));
}

TEST_CASE("Pins: a pattern that no op has, a backend that is unknown or cannot run it are errors") {
  const auto refusal = [](const Pin& pin, const char* graph = kGraph) {
    Case with(graph);
    with.options.pins = {pin};
    const auto mapping = ChooseKernels(with.graph, with.options);
    REQUIRE_FALSE(mapping.ok());
    CHECK(mapping.error().kind == ErrorKind::kUsage);
    return mapping.error().message;
  };
  CHECK(refusal({"layer3/*", "cpu"}) == "map 'layer3/*=cpu': no op has such a name");
  CHECK(refusal({"head", "npu"}) == "map 'head=npu': no backend 'npu'; there are cpu, twin");
  CHECK(
      refusal({"pool", "twin"}, R"(graph g
input %x: f16[1,2,4,4]
%y = average_pool(%x) {kernel=[2,2]} "pool"
output %y
)") ==
      "map 'pool=twin': 'pool' (average_pool) cannot run there: the portable kernel runs f32 only");
}

TEST_CASE("Pins: an op that was fused is named with the op that it went into") {
  Case with;
  with.graph.MutableOp(with.graph.OpOrder()[0]).source_ops = "bn_1,relu_1";
  with.options.pins = {{"relu_1", "cpu"}};
  const auto mapping = ChooseKernels(with.graph, with.options);
  REQUIRE_FALSE(mapping.ok());
  CHECK(mapping.error().message ==
        "map 'relu_1=cpu': no op of that name is left: it was fused into 'layer1/conv'");
}

TEST_CASE("ParsePins: patterns and backends, separated by commas") {
  const auto pins = ParsePins("conv_3=cpu,a=b/*=twin");
  REQUIRE(pins.ok());
  REQUIRE(pins->size() == 2);
  CHECK((*pins)[0].pattern == "conv_3");
  CHECK((*pins)[1].pattern == "a=b/*");
  CHECK((*pins)[1].backend == "twin");
  for (const char* wrong : {"", "conv_3", "=cpu", "conv_3=", "a=cpu,", ",a=cpu"}) {
    CHECK_MESSAGE(!ParsePins(wrong).ok(), wrong);
  }
}

}  // namespace
}  // namespace tenon::converter

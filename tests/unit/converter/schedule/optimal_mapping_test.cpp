// The mapping of least predicted time: what the table and pins allow, and no more.
#include "converter/schedule/optimal_mapping.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "converter/ir/text.hpp"
#include "tests/support/twin_backend.hpp"

namespace tenon::converter {
namespace {

/// The device is a little faster at every other op, which is not worth its start.
constexpr const char* kPingPong = R"(graph g
input %x: f32[1,160,2,2]
%a = unary(%x) {function=exp}
%b = max_pool(%a) {kernel=[3,3], pads=[1,1,1,1]}
%c = unary(%b) {function=exp}
%d = max_pool(%c) {kernel=[3,3], pads=[1,1,1,1]}
%e = unary(%d) {function=exp}
output %e
)";

TEST_CASE("ChooseOptimalMap: a table that is short-sighted is overruled, pins are not") {
  auto graph = ParseGraph(kPingPong);
  REQUIRE(graph.ok());
  Board board = test::TwinBoard();
  board.units[1].elementary_ops_per_second *= 1.1;
  board.priorities = {
      {"twin", "max_pool", 1}, {"twin", "unary", 2}, {"cpu", "unary", 1}, {"cpu", "*", 2}};
  const AnalyticCostModel costs(board);
  KernelChoiceOptions options;
  options.board = &board;
  options.backends = test::CpuAndTwin();
  options.costs = &costs;
  const auto free = ChooseOptimalMap(*graph, options, MapObjective::kLatency, {});
  REQUIRE(free.ok());
  CHECK(free->differs);
  CHECK(free->map.exact);
  CHECK(free->map.time < free->map.table);
  for (const OpId id : graph->OpOrder()) {
    CHECK(free->backend[static_cast<size_t>(id)] == "cpu");
  }
  options.pins = {{graph->op(graph->OpOrder()[1]).name, "twin"}};
  const auto pinned = ChooseOptimalMap(*graph, options, MapObjective::kLatency, {});
  REQUIRE(pinned.ok());
  CHECK(pinned->backend[static_cast<size_t>(graph->OpOrder()[1])] == "twin");
  CHECK(pinned->map.time > free->map.time);
}

TEST_CASE("ChooseOptimalMap: only backends that the table gives an op to are tried") {
  auto graph = ParseGraph(kPingPong);
  REQUIRE(graph.ok());
  Board board = test::TwinBoard();
  board.units[1].elementary_ops_per_second *= 100;
  board.units[1].launch_overhead_us = 0.2;
  board.units[1].enqueue_overhead_us = 0.1;
  board.priorities = {{"twin", "unary", 2}, {"cpu", "*", 1}};
  const AnalyticCostModel costs(board);
  KernelChoiceOptions options;
  options.board = &board;
  options.backends = test::CpuAndTwin();
  options.costs = &costs;
  const auto found = ChooseOptimalMap(*graph, options, MapObjective::kLatency, {});
  REQUIRE(found.ok());
  for (const OpId id : graph->OpOrder()) {
    const bool unary = graph->op(id).kind == OpKind::kUnary;
    CHECK(found->backend[static_cast<size_t>(id)] == (unary ? "twin" : "cpu"));
  }
}

/// Two heavy branches that do not need each other.
constexpr const char* kTwoBranches = R"(graph g
input %x: f32[1,8,16,16]
%a = max_pool(%x) {kernel=[3,3], pads=[1,1,1,1]}
%b = unary(%x) {function=exp}
%c = max_pool(%b) {kernel=[3,3], pads=[1,1,1,1]}
%d = binary(%a, %c) {function=add}
output %d
)";

/// A fast CPU, a slower one, and a device that is not worth its start.
Board BigAndLittle() {
  Board board = test::TwinBoard();
  Unit little = board.units[0];
  little.name = "little";
  little.elementary_ops_per_second *= 0.8;
  board.units.insert(board.units.begin() + 1, little);
  board.units[2].launch_overhead_us = 1e6;
  board.priorities = {{"cpu", "*", 1}, {"twin", "*", 2}};
  return board;
}

TEST_CASE("ChooseOptimalMap: ops go to units, also to the second one of a backend") {
  auto graph = ParseGraph(kTwoBranches);
  REQUIRE(graph.ok());
  const Board board = BigAndLittle();
  const AnalyticCostModel costs(board);
  KernelChoiceOptions options;
  options.board = &board;
  options.backends = test::CpuAndTwin();
  options.costs = &costs;
  const auto found = ChooseOptimalMap(*graph, options, MapObjective::kLatency, {});
  REQUIRE(found.ok());
  CHECK(found->differs);
  CHECK(found->map.time < found->map.table);
  CHECK(std::count(found->unit.begin(), found->unit.end(), "little") > 0);
  CHECK(std::count(found->unit.begin(), found->unit.end(), "twin") == 0);
}

}  // namespace
}  // namespace tenon::converter

#include "converter/cost/instruction_cost_model.hpp"

#include <doctest/doctest.h>

#include "converter/cost/instruction_bound.hpp"
#include "converter/ir/text.hpp"
#include "tests/unit/converter/cost/round_unit.hpp"

namespace tenon::converter {
namespace {

constexpr const char* kCopies =
    "graph g\ninput %x: i8[1,16,4,4] channels_last\ninput %f: f32[1,16,4,4]\n"
    "%y: i8[1,16,4,4] channels_last = copy(%x) @cpu/cpu.copy.portable\n"
    "%z: f32[1,16,4,4] = softmax(%f) {axis=1} @cpu/cpu.softmax.portable\noutput %y\noutput %z\n";

Board MicrocontrollerOf(const char* kernel_set) {
  Board board;
  Unit unit;
  unit.backend = unit.kind = "cpu";
  unit.kernel_set = kernel_set;
  unit.launch_overhead_us = 16;
  unit.multiply_accumulates_per_second = {{"f32", 1e8}, {"i8", 1e9}};
  unit.elementary_ops_per_second = 0.25e9;
  board.units.push_back(unit);
  return board;
}

TEST_CASE("InstructionCostModel: an op takes as long as its instructions, others by the rates") {
  const Result<Graph> graph = ParseGraph(kCopies);
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  const Locations locations = DenseIn(*graph);
  const Board board = MicrocontrollerOf("dsp");
  REQUIRE(HasInstructionTables(board));
  const InstructionCostModel model(board, locations);
  const Op& copy = graph->op(graph->tensor(graph->FindTensor("y")).producer);
  const auto most = BoundInstructions(*graph, copy, locations, "dsp");
  REQUIRE(most.has_value());
  const OpTime time = model.TimeOf(*graph, copy, board.units[0]);
  CHECK(time.fixed == 0);
  CHECK(time.compute == *most * 1000);  // 4 instructions in the time of an element: 1e9 a second
  const Op& other = graph->op(graph->tensor(graph->FindTensor("z")).producer);
  const OpTime by_rates = AnalyticCostModel(board).TimeOf(*graph, other, board.units[0]);
  const OpTime unknown = model.TimeOf(*graph, other, board.units[0]);
  CHECK(unknown.fixed == by_rates.fixed);
  CHECK(unknown.compute == by_rates.compute);
  CHECK(by_rates.fixed > 0);
}

TEST_CASE("InstructionCostModel: kernels of other sets take as long as the rates say") {
  CHECK_FALSE(HasInstructionTables(MicrocontrollerOf("portable")));
  CHECK_FALSE(HasInstructionTables(MicrocontrollerOf("")));
}

TEST_CASE("InstructionCostModel: Helium kernels have a table and a rate of their own") {
  const Result<Graph> graph = ParseGraph(kCopies);
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  const Locations locations = DenseIn(*graph);
  const Board board = MicrocontrollerOf("helium");
  REQUIRE(HasInstructionTables(board));
  const Op& copy = graph->op(graph->tensor(graph->FindTensor("y")).producer);
  const auto most = BoundInstructions(*graph, copy, locations, "helium");
  REQUIRE(most.has_value());
  const OpTime time = InstructionCostModel(board, locations).TimeOf(*graph, copy, board.units[0]);
  CHECK(time.fixed == 0);
  // 3 instructions in the time of an element: 0.75e9 a second.
  CHECK(time.compute == TimeAtRate(static_cast<double>(*most), 0.75e9));
}

}  // namespace
}  // namespace tenon::converter

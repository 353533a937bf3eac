#include "converter/cost/cost_model.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "converter/cost/simulated_board.hpp"
#include "tests/unit/converter/cost/round_unit.hpp"

namespace tenon::converter {
namespace {

Board Load(const char* name) {
  Result<Board> board = LoadBoard(name);
  REQUIRE_MESSAGE(board.ok(), board.error().message);
  return std::move(*board);
}

constexpr Picoseconds kMatMulTime = 4 * 8 * 6 * 1000;
constexpr Picoseconds kBiasAndRelu = 4 * 8 * (1 + 4) * 1000;

TEST_CASE("AnalyticCostModel: a CPU does bias and activation after the product") {
  const OpTime time = TimeOf(kProduct, "y", RoundUnit("cpu"));
  CHECK(time.fixed == 500'000);
  CHECK(time.compute == kMatMulTime + kBiasAndRelu);
  CHECK(time.bytes == 4 * (24 + 48 + 8 + 32));
  CHECK_FALSE(time.measured);
}

TEST_CASE("AnalyticCostModel: Winograd's kernel has products and transforms of its own") {
  Graph graph = Parsed(R"(input %x: f32[1,16,8,7]
const %w: f32[32,16,3,3] = random(1)
%y = conv(%x, %w) {pads=[1,1,1,1]}
output %y
)");
  Op& op = graph.MutableOp(graph.tensor(graph.FindTensor("y")).producer);
  op.kernel = "cpu.conv.vector";
  const auto time = [&] { return AnalyticCostModel().TimeOf(graph, op, RoundUnit("cpu")); };
  CHECK(time().compute == int64_t{8 * 7} * 32 * 16 * 9 * 1000);
  op.kernel = "cpu.conv.vector_winograd";
  // 2 x 2 tiles.
  CHECK(time().compute == int64_t{36} * ((4 + 2) * 16 * 32 + 4 * 12 * (16 + 32)) * 1000);
}

TEST_CASE("AnalyticCostModel: with DSP kernels a copy starts sooner than what prepares weights") {
  constexpr std::string_view kCopied = R"(graph g
input %x: f32[4,6]
%y = copy(%x)
output %y
)";
  Unit unit = RoundUnit("cpu");
  CHECK(TimeOf(kCopied, "y", unit).fixed == 500'000);
  unit.kernel_set = "dsp";
  CHECK(TimeOf(kCopied, "y", unit).fixed == 500'000 * 900LL / 11500);
  CHECK(TimeOf(kProduct, "y", unit).fixed == 500'000);
}

TEST_CASE("AnalyticCostModel: a vector kernel of the CPU adds and clamps in registers") {
  const auto time = [](const char* activation, const char* kernel) {
    return TimeOf(fmt::format("graph g\ninput %x: f32[4,6]\nconst %w: f32[6,16] = random(1)\n"
                              "const %b: f32[16] = random(2)\n"
                              "%y = matmul(%x, %w, %b) {{activation={}}}{}\noutput %y\n",
                              activation, kernel),
                  "y", RoundUnit("cpu"))
        .compute;
  };
  const Picoseconds product = Picoseconds{4} * 16 * 6 * 1000;
  CHECK(time("relu", " @cpu/cpu.matmul.vector") == product);
  CHECK(time("clip", " @cpu/cpu.matmul.vector") == product);
  CHECK(time("relu", " @cpu/cpu.matmul.portable") == product + 4 * 16 * 5 * 1000);
  CHECK(time("tanh", " @cpu/cpu.matmul.vector") == product + 4 * 16 * 5 * 1000);
  CHECK(time("relu", "") == product + 4 * 16 * 5 * 1000);
}

TEST_CASE("AnalyticCostModel: a matrix unit applies bias and activation on the way out") {
  CHECK(TimeOf(kProduct, "y", RoundUnit("matrix")).compute == kMatMulTime);
}

TEST_CASE("AnalyticCostModel: without rates a multiply-accumulate is two elementary ops") {
  Unit unit = RoundUnit("vector");
  unit.multiply_accumulates_per_second.clear();
  CHECK(TimeOf(kProduct, "y", unit).compute == 2 * kMatMulTime + kBiasAndRelu);
}

constexpr std::string_view kQuantizedDepthwise = R"(graph g
input %x: u8[1,8,4,4]
const %w: i8[8,1,1,1] = random(1)
%y = quantized_conv(%x, %w) {group=8, to=i32}
output %y
)";

TEST_CASE("AnalyticCostModel: u8 has the rate of i8 where the board gives none of its own") {
  Unit unit = RoundUnit("cpu");
  unit.depthwise_fraction = 0.5;
  const Picoseconds slow = TimeOf(kQuantizedDepthwise, "y", unit).compute;
  unit.multiply_accumulates_per_second["i8"] = 4e9;
  // 128 products at half the rate of dense ones; what is done per output stays as it is.
  CHECK(slow - TimeOf(kQuantizedDepthwise, "y", unit).compute == 128 * (2000 - 500));
  unit.multiply_accumulates_per_second["u8"] = 2e9;
  CHECK(slow - TimeOf(kQuantizedDepthwise, "y", unit).compute == 128 * (2000 - 1000));
}

TEST_CASE("AnalyticCostModel: a portable kernel has a rate of its own where the board gives one") {
  Graph graph = Parsed(kQuantizedDepthwise);
  const OpId id = graph.tensor(graph.FindTensor("y")).producer;
  Unit unit = RoundUnit("cpu");
  unit.depthwise_fraction = 0.5;
  unit.multiply_accumulates_per_second = {{"u8", 2e9}};
  unit.portable_multiply_accumulates_per_second = {{"u8", 0.25e9}, {"f32", 1.0}};
  const auto time_by = [&](const char* kernel) {
    graph.MutableOp(id).kernel = kernel;
    return AnalyticCostModel().TimeOf(graph, graph.op(id), unit).compute;
  };
  constexpr Picoseconds kPerOutput = 128 * 1000;
  for (const char* kernel :
       {"cpu.quantized_conv.portable", "cpu.quantized_conv.portable_in_place"}) {
    CHECK(time_by(kernel) == 128 * 4000 + kPerOutput);
  }
  for (const char* kernel :
       {"cpu.quantized_conv.dsp_depthwise", "portable.quantized_conv.fast", ""}) {
    CHECK(time_by(kernel) == 128 * 1000 + kPerOutput);
  }
  unit.portable_multiply_accumulates_per_second.erase("u8");
  CHECK(time_by("cpu.quantized_conv.portable") == 128 * 1000 + kPerOutput);
}

TEST_CASE("AnalyticCostModel: elements that are only moved have a rate of their own") {
  constexpr std::string_view kMoves = R"(graph g
input %x: f32[4,6]
%copied = copy(%x)
%negated = unary(%x) {function=neg}
output %copied
output %negated
)";
  Unit unit = RoundUnit("cpu");
  CHECK(TimeOf(kMoves, "copied", unit).compute == 24 * 1000);
  unit.moved_elements_per_second = 8e9;
  CHECK(TimeOf(kMoves, "copied", unit).compute == 24 * 125);
  CHECK(TimeOf(kMoves, "copied", unit, 2).compute == 12 * 125);
  CHECK(TimeOf(kMoves, "negated", unit).compute == 24 * 1000);
}

TEST_CASE("AnalyticCostModel: a dtype has its own rate, or that of f32") {
  constexpr std::string_view kHalf = R"(graph g
input %x: f16[4,6]
input %w: f16[6,8]
%y = matmul(%x, %w)
output %y
)";
  Unit unit = RoundUnit("cpu");
  CHECK(TimeOf(kHalf, "y", unit).compute == kMatMulTime);
  unit.multiply_accumulates_per_second["f16"] = 2e9;
  CHECK(TimeOf(kHalf, "y", unit).compute == kMatMulTime / 2);
}

TEST_CASE("AnalyticCostModel: threads multiply the rates, as many as the unit allows") {
  CHECK(TimeOf(kProduct, "y", RoundUnit("cpu"), 2).compute == (kMatMulTime + kBiasAndRelu) / 2);
  CHECK(TimeOf(kProduct, "y", RoundUnit("cpu"), 9).compute == (kMatMulTime + kBiasAndRelu) / 4);
  CHECK(TimeOf(kProduct, "y", RoundUnit("cpu"), 0).compute == kMatMulTime + kBiasAndRelu);
}

TEST_CASE("AnalyticCostModel: only depthwise convolutions have the depthwise rate") {
  constexpr std::string_view kConvolutions = R"(graph g
input %x: f32[1,4,5,5]
const %d: f32[8,1,3,3] = random(1)
const %g: f32[8,2,3,3] = random(2)
const %f: f32[8,4,3,3] = random(3)
%depthwise = conv(%x, %d) {group=4}
%grouped = conv(%x, %g) {group=2}
%full = conv(%x, %f)
output %depthwise
output %grouped
output %full
)";
  Unit unit = RoundUnit("matrix");
  unit.depthwise_fraction = 0.125;
  const Picoseconds taps = Picoseconds{8} * 9 * 9 * 1000;
  CHECK(TimeOf(kConvolutions, "depthwise", unit).compute == taps * 8);
  CHECK(TimeOf(kConvolutions, "grouped", unit).compute == taps * 2);
  CHECK(TimeOf(kConvolutions, "full", unit).compute == taps * 4);
}

TEST_CASE("AnalyticCostModel: depthwise convolutions of a dtype may have a rate of their own") {
  constexpr std::string_view kConvolutions = R"(graph g
input %x: f32[1,4,5,5]
const %d: f32[4,1,3,3] = random(1)
%depthwise = conv(%x, %d) {group=4}
output %depthwise
)";
  Unit unit = RoundUnit("cpu");
  unit.depthwise_fraction = 0.5;
  unit.depthwise_multiply_accumulates_per_second = {{"i8", 1e8}};
  const Picoseconds taps = Picoseconds{4} * 9 * 9 * 1000;
  CHECK(TimeOf(kConvolutions, "depthwise", unit).compute == taps * 2);
  unit.depthwise_multiply_accumulates_per_second = {{"f32", 0.25e9}};
  CHECK(TimeOf(kConvolutions, "depthwise", unit).compute == taps * 4);
}

TEST_CASE("AnalyticCostModel: what the last cache has room for comes at its rate") {
  Unit unit = RoundUnit("cpu");
  unit.multiply_accumulates_per_second = {{"f32", 1e15}};
  unit.elementary_ops_per_second = 1e15;
  unit.shared_cache_bytes_per_second = 1e9;  // a byte takes 1 ns
  const int64_t constants = 4 * (48 + 8);
  const int64_t others = 4 * (24 + 32);
  unit.shared_cache_bytes = constants + others;
  OpTime time = TimeOf(kProduct, "y", unit);
  CHECK(time.bytes == 0);
  CHECK(time.compute == (constants + others) * 1000);
  // Half as large a cache: half of the op's bytes, and none of the constants, do not fit.
  unit.shared_cache_bytes = (constants + others) / 2;
  time = TimeOf(kProduct, "y", unit);
  CHECK(time.bytes == others / 2);
  CHECK(time.compute == (constants + others / 2) * 1000);
  // Constants from a space of their own come at its bandwidth, as far as they are not cached.
  Board board = Load("cortex-m55");
  board.FindSpace("flash")->bandwidth_bytes_per_second = 1e6;  // a byte takes 1 us
  unit.shared_cache_bytes = constants / 2;
  const Graph graph = Parsed(kProduct);
  time = AnalyticCostModel(board).TimeOf(graph, ProducerOf(graph, "y"), unit);
  CHECK(time.bytes == others * 3 / 4);
  CHECK(time.compute == constants / 2 * 1'000'000 + (constants / 2 + others / 4) * 1000);
}

TEST_CASE("AnalyticCostModel: a vector kernel takes as long for few outputs as for 16") {
  const auto time = [](int outputs, const char* kernel) {
    const std::string text = fmt::format(
        "graph g\ninput %x: f32[4,6]\nconst %w: f32[6,{}] = random(1)\n"
        "%y = matmul(%x, %w){}\noutput %y\n",
        outputs, kernel);
    return TimeOf(text, "y", RoundUnit("cpu")).compute;
  };
  const char* const vector = " @cpu/cpu.matmul.vector";
  CHECK(time(16, vector) == 4 * 16 * 6 * 1000);
  CHECK(time(2, vector) == time(16, vector));
  CHECK(time(17, vector) == time(32, vector));
  CHECK(time(2, " @cpu/cpu.matmul.portable") == 4 * 2 * 6 * 1000);
  CHECK(time(2, "") == 4 * 2 * 6 * 1000);
}

TEST_CASE("AnalyticCostModel: a convolution of one channel is not depthwise") {
  Unit unit = RoundUnit("matrix");
  unit.depthwise_fraction = 0.125;
  CHECK(TimeOf(R"(graph g
input %x: f32[1,1,5,5]
const %w: f32[1,1,3,3] = random(1)
%y = conv(%x, %w)
output %y
)",
               "y", unit)
            .compute == 81 * 1000);
}

TEST_CASE("AnalyticCostModel: constants in flash come at its bandwidth") {
  Board board = Load("cortex-m55");
  const Graph graph = Parsed(kProduct);
  const Op& product = ProducerOf(graph, "y");
  const Unit unit = RoundUnit("cpu");
  const int64_t constants = 4 * (48 + 8);
  board.FindSpace("flash")->bandwidth_bytes_per_second = 1e9;  // a byte takes 1 ns
  OpTime time = AnalyticCostModel(board).TimeOf(graph, product, unit);
  CHECK(time.bytes == 4 * (24 + 32));
  CHECK(time.compute == kMatMulTime + kBiasAndRelu);
  board.FindSpace("flash")->bandwidth_bytes_per_second = 1e6;  // a byte takes 1 us
  time = AnalyticCostModel(board).TimeOf(graph, product, unit);
  CHECK(time.compute == constants * 1'000'000);
  CHECK(AnalyticCostModel(board, 4).TimeOf(graph, product, unit).compute == time.compute);
}

TEST_CASE("AnalyticCostModel: constants that are staged or lie in the arena's space do not") {
  const Graph graph = Parsed(kProduct);
  for (const char* name : {"npu-3unit", "rk3588"}) {
    Board board = Load(name);
    for (MemorySpace& space : board.memory_spaces) space.bandwidth_bytes_per_second = 1;
    const OpTime time =
        AnalyticCostModel(board).TimeOf(graph, ProducerOf(graph, "y"), RoundUnit("cpu"));
    CHECK(time.bytes == 4 * (24 + 48 + 8 + 32));
    CHECK(time.compute == kMatMulTime + kBiasAndRelu);
  }
}

TEST_CASE("AnalyticCostModel: a device with memory of its own keeps its constants there") {
  Board board = Load("x86-64-gpu");
  board.FindSpace("file")->bandwidth_bytes_per_second = 1;
  const Graph graph = Parsed(kProduct);
  Unit unit = RoundUnit("gpu");
  unit.kind = "gpu";
  const auto compute = [&] {
    return AnalyticCostModel(board).TimeOf(graph, ProducerOf(graph, "y"), unit).compute;
  };
  const Picoseconds from_file = compute();
  unit.port_bytes_per_second = 1e9;
  CHECK(from_file == 4 * (48 + 8) * Picoseconds{1'000'000'000'000});
  CHECK(compute() < from_file / 1'000'000);
}

TEST_CASE("AnalyticCostModel: of a constant that is sliced only the part taken is read") {
  const Board board = Load("cortex-m55");
  const OpTime time = [&] {
    const Graph graph = Parsed(R"(graph g
const %w: f32[100] = random(1)
input %i: i32[3]
%y = gather(%w, %i)
output %y
)");
    return AnalyticCostModel(board).TimeOf(graph, ProducerOf(graph, "y"), RoundUnit("cpu"));
  }();
  CHECK(time.bytes == 3 * 4);
}

TEST_CASE("OpTime: alone, an op takes the longer of computing and moving, and its start") {
  OpTime time;
  time.fixed = 7;
  time.compute = 100;
  time.bytes = 50;
  CHECK(time.Alone(1e12) == 107);
  CHECK(time.Alone(0.25e12) == 207);
  CHECK(time.Alone(0) == 107);
}

TEST_CASE("TransferTime: latency, launch, and bytes at the link's bandwidth") {
  const Board npu = Load("npu-3unit");
  const OpTime time = TransferTime(npu, *npu.FindLink("ddr", "sram"), 1'600'000);
  CHECK(time.Alone(npu.PortBytesPerSecond(npu.units[0])) == 500'000 + 100'000'000);
  Board other = npu;
  other.units[0].launch_overhead_us = 2;
  CHECK(TransferTime(other, other.links[0], 0).fixed == 2'500'000);
  other.links[0].unit.clear();
  CHECK(TransferTime(other, other.links[0], 0).fixed == 500'000);
}

constexpr std::string_view kUnits = R"(graph g
input %x: f32[1,4,5,5]
const %w: f32[8,4,3,3] = random(3)
%c = conv(%x, %w)
%r = unary(%c) {function=relu}
%y = copy(%r)
output %y
)";

TEST_CASE("UnitFor: the first unit that lists the kind or lists none, and never the DMA") {
  const Graph graph = Parsed(kUnits);
  Board npu = Load("npu-3unit");
  CHECK(UnitFor(npu, ProducerOf(graph, "c"))->name == "matrix");
  CHECK(UnitFor(npu, ProducerOf(graph, "r"))->name == "vector");
  CHECK(UnitFor(npu, ProducerOf(graph, "y"))->name == "vector");
  npu.units.pop_back();
  CHECK(UnitFor(npu, ProducerOf(graph, "r")) == nullptr);
}

TEST_CASE("UnitFor: an op that has a backend runs on a unit of it") {
  Graph graph = Parsed(kUnits);
  Board npu = Load("npu-3unit");
  npu.units[2].backend = "fpga";
  const OpId id = graph.tensor(graph.FindTensor("c")).producer;
  graph.MutableOp(id).backend = "cpu";
  CHECK(UnitFor(npu, graph.op(id))->name == "matrix");
  graph.MutableOp(id).backend = "fpga";
  CHECK(UnitFor(npu, graph.op(id))->name == "vector");
  graph.MutableOp(id).backend = "opencl";
  CHECK(UnitFor(npu, graph.op(id)) == nullptr);
}

// --- the hand-computed case of the board npu-3unit ----------------------------------------------

constexpr std::string_view kDiamond = R"(graph diamond
input %x: f32[1,64,28,28]
const %wa: f32[64,64,1,1] = random(1)
const %wc: f32[64,64,1,1] = random(2)
%A = conv(%x, %wa)
%B = unary(%x) {function=relu}
%C = conv(%B, %wc)
%D = binary(%A, %C)
output %D
)";

struct Diamond {
  Board board = Load("npu-3unit");
  Graph graph = Parsed(kDiamond);

  [[nodiscard]] OpTime Time(std::string_view name) const {
    const Op& op = ProducerOf(graph, name);
    return AnalyticCostModel().TimeOf(graph, op, *UnitFor(board, op));
  }
  /// Makespan when the ops are issued in this order.
  [[nodiscard]] Picoseconds Makespan(std::string_view order) const {
    const SimulatedBoard simulated(board);
    SimulatedProgram program = simulated.units_and_ports();
    for (const char name : order) {
      const std::string tensor(1, name);
      const Unit* unit = UnitFor(board, ProducerOf(graph, tensor));
      const auto index = static_cast<int32_t>(unit - board.units.data());
      SimulatedStep step = simulated.OpStep(index, Time(tensor));
      const auto wait = [&](char before) {
        step.waits.push_back(static_cast<int32_t>(order.find(before)));
      };
      if (name == 'C') wait('B');
      if (name == 'D') {
        wait('A');
        wait('C');
      }
      program.steps.push_back(step);
    }
    const Result<Simulation> result = Simulate(program);
    REQUIRE_MESSAGE(result.ok(), result.error().message);
    return result->makespan;
  }
};

TEST_CASE("npu-3unit: times of the ops of the hand-computed case") {
  const Diamond diamond;
  CHECK(diamond.Time("A").bytes == 417'792);
  CHECK(diamond.Time("A").Alone(256e9) == 13'145'056);  // 3,211,264 MAC / 0.25e12 + 0.3 us
  CHECK(diamond.Time("B").Alone(256e9) == 3'436'000);   // 50,176 x 4 / 64e9 + 0.3 us
  CHECK(diamond.Time("D").Alone(256e9) == 2'652'000);   // 602,112 bytes / 256e9 + 0.3 us
}

TEST_CASE("npu-3unit: the three schedules of the hand-computed case") {
  const Diamond diamond;
  CHECK(diamond.Makespan("BACD") == 28'942'112);  // 28.942 us
  CHECK(diamond.Makespan("ABCD") == 28'942'112);  // 28.942 us
  CHECK(diamond.Makespan("BCAD") == 32'378'112);  // 32.378 us
}

// --- boards as the simulator sees them ----------------------------------------------------------

TEST_CASE("SimulatedBoard: units of a space that is not shared never wait for each other's bytes") {
  const Board npu = Load("npu-3unit");
  const SimulatedBoard simulated(npu);
  SimulatedProgram program = simulated.units_and_ports();
  CHECK(program.units == std::vector<std::string>{"dma", "matrix", "vector"});
  OpTime time;
  time.bytes = 256'000;
  program.steps = {simulated.OpStep(1, time), simulated.OpStep(2, time),
                   simulated.TransferStep(0, 16'000, 0)};
  const Result<Simulation> result = Simulate(program);
  REQUIRE(result.ok());
  CHECK(result->end == std::vector<Picoseconds>{1'000'000, 1'000'000, 1'500'000});
}

TEST_CASE("SimulatedBoard: a shared space divides its bandwidth, transfers included") {
  Board npu = Load("npu-3unit");
  npu.FindSpace("sram")->shared = true;
  npu.links[0].bandwidth_bytes_per_second = 256e9;
  npu.links[0].latency_ns = 0;
  npu.links[0].unit.clear();
  const SimulatedBoard simulated(npu);
  SimulatedProgram program = simulated.units_and_ports();
  OpTime time;
  time.bytes = 256'000;
  program.steps = {simulated.OpStep(1, time), simulated.TransferStep(0, 256'000, 2)};
  CHECK(program.steps[1].unit == 2);
  const Result<Simulation> result = Simulate(program);
  REQUIRE(result.ok());
  CHECK(result->end == std::vector<Picoseconds>{2'000'000, 2'000'000});
}

}  // namespace
}  // namespace tenon::converter

#include <doctest/doctest.h>

#include <string>

#include "converter/cost/cost_model.hpp"
#include "converter/ir/text.hpp"

namespace tenon::converter {
namespace {

TEST_CASE("AnalyticCostModel: Winograd's products are fewer, the more so with workspace for them") {
  Result<Graph> graph = ParseGraph(
      "graph g\ninput %x: i8[1,16,8,8]\nconst %w: i8[2,16,3,3] = random(1)\nconst %m: f32[1] = "
      "[1]\n"
      "%y = quantized_conv(%x, %w, _, %m) {pads=[1,1,1,1], to=i8}\noutput %y\n");
  REQUIRE(graph.ok());
  Op& op = graph->MutableOp(graph->tensor(graph->FindTensor("y")).producer);
  Unit unit;
  unit.backend = unit.kind = "cpu";
  unit.multiply_accumulates_per_second = {{"i8", 1e9}};
  unit.elementary_ops_per_second = 1e9;
  const auto time_by = [&](const char* kernel, int64_t workspace_bytes) {
    op.kernel = kernel;
    op.workspace_bytes = workspace_bytes;
    return AnalyticCostModel().TimeOf(*graph, op, unit).compute;
  };
  const char* const winograd = "cpu.quantized_conv.dsp_winograd";
  const Picoseconds plain = time_by("cpu.quantized_conv.dsp", 0);
  const Picoseconds products = Picoseconds{8} * 8 * 2 * 16 * 9 * 1000;
  CHECK(plain - time_by(winograd, 0) == products / 3);
  CHECK(plain - time_by(winograd, 1 << 16) == products / 3);
  CHECK(plain - time_by(winograd, 256) == products / 6);
}

TEST_CASE("AnalyticCostModel: kernels of several groups count what half-empty vectors take") {
  struct Case {
    const char* weights;
    const char* group;
    const char* kernel;
    int64_t products;
  };
  constexpr int64_t kTiles = 49;
  constexpr int64_t kWinograd =
      36 * ((kTiles + 1) * 32 * 12 + 6 * kTiles * (32 + 32) + 150 * 4 * 4);
  constexpr int64_t kSpread = int64_t{28} * 28 * 32 * (36 * 5 / 4 + 6);
  for (const Case& c : {Case{"f32[32,8,3,3]", "4", "cpu.conv.vector_winograd", kWinograd},
                        Case{"f32[32,4,3,3]", "8", "cpu.conv.vector_depthwise", kSpread}}) {
    CAPTURE(c.kernel);
    Result<Graph> graph = ParseGraph(
        "graph g\ninput %x: f32[1,32,28,28]\nconst %w: " + std::string(c.weights) +
        " = random(1)\n%y = conv(%x, %w) {pads=[1,1,1,1], group=" + c.group + "}\noutput %y\n");
    REQUIRE(graph.ok());
    Op& op = graph->MutableOp(graph->tensor(graph->FindTensor("y")).producer);
    op.kernel = c.kernel;
    Unit unit;
    unit.backend = unit.kind = "cpu";
    unit.multiply_accumulates_per_second = {{"f32", 1e9}};
    unit.elementary_ops_per_second = 1e9;
    CHECK(AnalyticCostModel().TimeOf(*graph, op, unit).compute == c.products * 1000);
  }
}

}  // namespace
}  // namespace tenon::converter

#include <doctest/doctest.h>

#include <string_view>

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

}  // namespace
}  // namespace tenon::converter

// Layers give the bytes of the CPU's kernels, layer by layer.
#include <doctest/doctest.h>

#include "backends/fpga/codegen/lower_segment.hpp"
#include "tests/unit/backends/fpga/codegen/layer_model.hpp"
#include "tests/unit/backends/fpga/codegen/random_segment.hpp"
#include "tests/unit/backends/fpga/codegen/segment_values.hpp"

using namespace tenon;  // NOLINT

namespace {

struct Seen {
  int layers = 0;
  int residuals = 0;
  int tables = 0;
  int refused = 0;
  int elsewhere = 0;
};

/// Runs the layers of one segment on what the CPU gives for its inputs. Says where they part.
std::string Compare(const test::MappedGraph& mapped, const std::vector<converter::OpId>& segment,
                    const test::Evaluation& values, Seen& seen) {
  const converter::TracedSource traced =
      converter::SourceOf(mapped.graph, mapped.locations, segment);
  const auto program = fpga::LowerSegment(traced.source);
  if (!program.ok()) {
    ++seen.refused;
    return program.refusal().reason.find("tables") != std::string::npos ? ""
                                                                        : program.refusal().reason;
  }
  std::vector<test::MapBytes> maps;
  for (size_t i = 0; i < traced.roots.size(); ++i) {
    maps.push_back(test::StoredMap(mapped.graph, values, traced.roots[i]));
  }
  for (const fpga::Layer& layer : program->layers) {
    auto& output = maps[static_cast<size_t>(layer.output.map)];
    const test::MapBytes expected = output;
    std::fill(output.begin(), output.end(), 77);
    test::RunLayer(*program, layer, maps);
    if (output != expected) {
      return traced.source.ops[static_cast<size_t>(layer.op)].name + " differs";
    }
    ++seen.layers;
    seen.residuals += layer.residual ? 1 : 0;
    seen.tables += layer.table ? 1 : 0;
  }
  return "";
}

std::string CompareGraph(converter::Graph graph, uint64_t seed, Seen& seen) {
  const test::MappedGraph mapped = test::MapToAccelerator(std::move(graph));
  if (!mapped.error.empty()) return mapped.error;
  seen.elsewhere += static_cast<int>(mapped.ops_elsewhere);
  const test::Evaluation values =
      test::EvaluateGraph(mapped.graph, test::ByteInputs(mapped.graph, seed));
  if (!values.error.empty()) return values.error;
  for (const auto& segment : mapped.segments) {
    const std::string difference = Compare(mapped, segment, values, seen);
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace

TEST_CASE("LowerSegment: random convolutions become layers that give the CPU's bytes") {
  Seen seen;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    CHECK(CompareGraph(test::RandomConv(seed), seed, seen) == "");
  }
  CHECK(seen.layers == 300);
}

TEST_CASE("LowerSegment: random segments become layers that give the CPU's bytes") {
  Seen seen;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    CHECK(CompareGraph(test::RandomSegment(seed), seed, seen) == "");
  }
  MESSAGE(seen.layers << " layers, " << seen.residuals << " with sums, " << seen.tables
                      << " with tables; " << seen.refused << " segments refused, " << seen.elsewhere
                      << " ops on the CPU");
  CHECK(seen.residuals > 30);
  CHECK(seen.tables > 30);
  CHECK(seen.refused < 15);
}

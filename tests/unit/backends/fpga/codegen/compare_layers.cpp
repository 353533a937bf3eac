#include "tests/unit/backends/fpga/codegen/compare_layers.hpp"

#include <algorithm>
#include <vector>

#include "backends/fpga/codegen/lower_segment.hpp"
#include "tests/unit/backends/fpga/codegen/layer_model.hpp"
#include "tests/unit/backends/fpga/codegen/segment_values.hpp"

namespace tenon::test {
namespace {

/// Runs the layers of one segment on what the CPU gives for its inputs. Says where they part.
std::string Compare(const MappedGraph& mapped, const std::vector<converter::OpId>& segment,
                    const Evaluation& values, SeenLayers& seen) {
  const converter::TracedSource traced =
      converter::SourceOf(mapped.graph, mapped.locations, segment);
  const auto program = fpga::LowerSegment(traced.source);
  if (!program.ok()) {
    ++seen.refused;
    return program.refusal().reason.find("tables") != std::string::npos ? ""
                                                                        : program.refusal().reason;
  }
  std::vector<MapBytes> maps;
  for (size_t i = 0; i < traced.roots.size(); ++i) {
    maps.push_back(StoredMap(traced.source.blocks[i], BlockBytes(mapped, values, traced, i)));
  }
  for (const fpga::Layer& layer : program->layers) {
    auto& output = maps[static_cast<size_t>(layer.output.map)];
    const MapBytes expected = output;
    std::fill(output.begin(), output.end(), 77);
    RunLayer(*program, layer, maps);
    if (output != expected) {
      return traced.source.ops[static_cast<size_t>(layer.op)].name + " differs";
    }
    ++seen.layers;
    seen.residuals += layer.residual ? 1 : 0;
    seen.tables += layer.table ? 1 : 0;
  }
  return "";
}

}  // namespace

std::string CompareLayers(converter::Graph graph, uint64_t seed, SeenLayers& seen) {
  const MappedGraph mapped = MapToAccelerator(std::move(graph));
  if (!mapped.error.empty()) return mapped.error;
  seen.elsewhere += static_cast<int>(mapped.ops_elsewhere);
  const Evaluation values = EvaluateGraph(mapped.graph, ByteInputs(mapped.graph, seed));
  if (!values.error.empty()) return values.error;
  for (const auto& segment : mapped.segments) {
    const std::string difference = Compare(mapped, segment, values, seen);
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace tenon::test

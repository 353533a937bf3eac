#include "backends/fpga/codegen/segment_code.hpp"

#include "backends/fpga/codegen/lower_segment.hpp"
#include "backends/fpga/codegen/place_maps.hpp"
#include "backends/fpga/codegen/predict_cycles.hpp"

namespace tenon::fpga {

Outcome<SegmentCode> GenerateCode(const SegmentSource& source, const CodeTarget& target) {
  Outcome<LayerProgram> program = LowerSegment(source);
  if (!program.ok()) return program.refusal();
  const MapPlaces places = PlaceMaps(*program, target);
  std::vector<bool> in_memory;
  for (int m = 0; m < static_cast<int>(program->maps.size()); ++m) {
    in_memory.push_back(places.IsInMemory(m));
  }
  SegmentCode code;
  code.map_words = places.words;
  code.spilled_maps = places.spilled;
  CyclePrediction prediction = PredictCycles(*program, target, in_memory);
  code.layers = std::move(prediction.layers);
  code.cycles = prediction.cycles;
  for (size_t i = 0; i < code.layers.size(); ++i) {
    code.layers[i].name = source.ops[static_cast<size_t>(program->layers[i].op)].name;
  }
  return code;
}

}  // namespace tenon::fpga

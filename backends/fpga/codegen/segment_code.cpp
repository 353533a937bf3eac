#include "backends/fpga/codegen/segment_code.hpp"

#include "backends/fpga/codegen/lower_segment.hpp"
#include "backends/fpga/codegen/predict_cycles.hpp"

namespace tenon::fpga {

Outcome<SegmentCode> GenerateCode(const SegmentSource& source, const CodeTarget& target) {
  Outcome<LayerProgram> program = LowerSegment(source);
  if (!program.ok()) return program.refusal();
  std::vector<bool> in_memory;
  for (const FeatureMap& map : program->maps) in_memory.push_back(map.is_read || map.is_written);
  SegmentCode code;
  CyclePrediction prediction = PredictCycles(*program, target, in_memory);
  code.layers = std::move(prediction.layers);
  code.cycles = prediction.cycles;
  for (size_t i = 0; i < code.layers.size(); ++i) {
    code.layers[i].name = source.ops[static_cast<size_t>(program->layers[i].op)].name;
  }
  return code;
}

}  // namespace tenon::fpga

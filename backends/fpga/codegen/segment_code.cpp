#include "backends/fpga/codegen/segment_code.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "backends/fpga/caps/limits.hpp"
#include "backends/fpga/codegen/batch.hpp"
#include "backends/fpga/codegen/encode_layers.hpp"
#include "backends/fpga/codegen/fit_chip.hpp"
#include "backends/fpga/codegen/lower_segment.hpp"
#include "backends/fpga/codegen/predict_cycles.hpp"

namespace tenon::fpga {
namespace {

constexpr int kFoldedChannels = 4;
constexpr int kFoldedStride = 4;
constexpr int kFoldedGroup = 32;

/// True if the array can take the columns of the map's windows side by side.
bool CanFold(const LayerProgram& program, int map, const CodeTarget& target) {
  const FeatureMap& image = program.maps[static_cast<size_t>(map)];
  if (!image.is_read || image.is_written || image.channels > kFoldedChannels ||
      target.input_channels != kFoldedGroup) {
    return false;
  }
  return std::all_of(program.layers.begin(), program.layers.end(), [&](const Layer& layer) {
    if (layer.residual && layer.residual->other.map == map) return false;
    if (layer.input.map != map) return true;
    const Window& window = layer.window;
    isa::Window columns;
    columns.kernel_width = static_cast<uint32_t>(window.kernel[1]);
    columns.stride_width = static_cast<uint32_t>(window.strides[1]);
    columns.pad_left = static_cast<uint32_t>(window.pads[1]);
    return layer.kind == LayerKind::kConv && window.dilations[1] == 1 &&
           window.strides[1] <= kFoldedStride &&
           isa::FoldedWindowsFit(static_cast<uint32_t>(image.width), columns) &&
           program.maps[static_cast<size_t>(layer.output.map)].width % 2 == 0;
  });
}

/// True if one more column of the map, of whatever values, would change nothing: only layers that
/// never look beyond the last one read it.
bool CanWiden(const LayerProgram& program, int map) {
  const FeatureMap& wide = program.maps[static_cast<size_t>(map)];
  if (wide.is_read || wide.is_written) return false;
  int writers = 0;
  for (const Layer& layer : program.layers) {
    if (layer.residual && (layer.residual->other.map == map || layer.output.map == map)) {
      return false;
    }
    if (layer.output.map == map) ++writers;
    if (layer.input.map != map) continue;
    const Window& window = layer.window;
    const int columns = program.maps[static_cast<size_t>(layer.output.map)].width;
    const int last = (columns - 1) * window.strides[1] +
                     (window.kernel[1] - 1) * window.dilations[1] - window.pads[1];
    const bool is_large = window.kernel[0] > kMostKernel || window.kernel[1] > kMostKernel;
    if (last >= wide.width || is_large || layer.output.map == map) return false;
  }
  return writers == 1;
}

/// Images are folded in rows of an even number of results: where that is odd, and nobody would see
/// it, one more is computed.
void EvenOutRows(LayerProgram& program) {
  for (const Layer& layer : program.layers) {
    const FeatureMap& input = program.maps[static_cast<size_t>(layer.input.map)];
    FeatureMap& output = program.maps[static_cast<size_t>(layer.output.map)];
    if (input.is_read && input.channels <= kFoldedChannels && output.width % 2 != 0 &&
        layer.kind == LayerKind::kConv && CanWiden(program, layer.output.map)) {
      ++output.width;
    }
  }
}

/// The op that writes a map without room, or reads it.
int OpOf(const LayerProgram& program, const MapPlaces& places) {
  for (const Layer& layer : program.layers) {
    for (const int map : {layer.output.map, layer.input.map}) {
      if (places.word[static_cast<size_t>(map)] == kNoRoom) return layer.op;
    }
  }
  return -1;
}

/// `work`: multiply-accumulates of the network by op, which the op's bands take until none is left:
/// what they compute again is nobody's.
void SetPrediction(const SegmentSource& source, const LayerProgram& program,
                   const CodeTarget& target, std::map<int, int64_t> work, SegmentCode& code) {
  std::vector<bool> in_memory;
  for (const FeatureMap& map : program.maps) in_memory.push_back(map.is_read || map.is_written);
  CyclePrediction prediction = PredictCycles(program, target, in_memory);
  code.layers = std::move(prediction.layers);
  code.cycles = prediction.cycles;
  for (size_t i = 0; i < code.layers.size(); ++i) {
    const Layer& layer = program.layers[i];
    int64_t& left = work.at(layer.op);
    code.layers[i].multiply_accumulates = std::min(left, MultiplyAccumulates(program, layer));
    left -= code.layers[i].multiply_accumulates;
    code.layers[i].name = source.ops[static_cast<size_t>(layer.op)].name;
  }
}

void AppendBytes(const isa::Descriptor& descriptor, std::vector<uint8_t>& bytes) {
  uint32_t words[isa::kDescriptorWords];
  isa::Encode(descriptor, words);
  const size_t begin = bytes.size();
  bytes.resize(begin + sizeof words);
  std::memcpy(bytes.data() + begin, words, sizeof words);
}

}  // namespace

Outcome<SegmentCode> GenerateCode(const SegmentSource& source, const CodeTarget& target) {
  if (!isa::IsGroup(target.input_channels) || target.output_channels != target.input_channels) {
    return Refusal{-1, "the accelerator's array has 8, 16 or 32 channels in and as many out"};
  }
  const int images = ImagesOf(source);
  if (images == 0) return Refusal{-1, "the maps of its segment differ in their number of images"};
  const SegmentSource one_image = OneImageOf(source);
  Outcome<LayerProgram> program = LowerSegment(images > 1 ? one_image : source);
  if (!program.ok()) return program.refusal();
  *program = ForImages(*program, images);
  for (FeatureMap& map : program->maps) map.group = target.input_channels;
  std::map<int, int64_t> work;  // of the network, by op: without what is computed for nobody
  for (const Layer& layer : program->layers) {
    work[layer.op] += MultiplyAccumulates(*program, layer);
  }
  EvenOutRows(*program);
  for (int m = 0; m < static_cast<int>(program->maps.size()); ++m) {
    program->maps[static_cast<size_t>(m)].folded = CanFold(*program, m, target);
  }
  const FittedProgram fitted = FitChip(*program, target);
  if (fitted.places.spilled > 0) {
    return Refusal{OpOf(fitted.program, fitted.places),
                   "the feature maps of its segment do not fit the chip, not band by band: they "
                   "fit if split to at most " +
                       std::to_string(target.map_bytes) + " bytes"};
  }
  const isa::Parameters parameters = ParametersOf(target);
  Outcome<EncodedLayers> encoded = EncodeLayers(source, fitted.program, fitted.places, parameters);
  if (!encoded.ok()) return encoded.refusal();
  SegmentCode code;
  for (const isa::Descriptor& descriptor : encoded->descriptors) {
    AppendBytes(descriptor, code.descriptors);
  }
  code.constants = std::move(encoded->constants);
  code.relocations = std::move(encoded->relocations);
  code.version = isa::kFormatVersion;
  uint32_t words[isa::kParameters];
  parameters.Encode(words);
  code.parameters.assign(words, words + isa::kParameters);
  code.map_words = fitted.places.words;
  code.scratch_bytes = fitted.scratch_bytes;
  SetPrediction(source, fitted.program, target, std::move(work), code);
  return code;
}

}  // namespace tenon::fpga

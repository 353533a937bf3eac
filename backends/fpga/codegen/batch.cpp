#include "backends/fpga/codegen/batch.hpp"

#include <algorithm>

namespace tenon::fpga {

int ImagesOf(const SegmentSource& source) {
  const bool is_batch = std::any_of(
      source.blocks.begin(), source.blocks.end(),
      [](const SourceBlock& block) { return block.shape.rank == 4 && block.shape.dims[0] > 1; });
  if (!is_batch) return 1;
  const int images = source.blocks.front().shape.dims[0];
  const auto has_images = [&](const Shape& shape) {
    return shape.rank > 1 && shape.dims[0] == images;
  };
  const bool all =
      std::all_of(source.blocks.begin(), source.blocks.end(),
                  [&](const SourceBlock& block) { return has_images(block.shape); }) &&
      std::all_of(source.tensors.begin(), source.tensors.end(), [&](const SourceTensor& tensor) {
        return tensor.block < 0 || has_images(tensor.shape);
      });
  return all ? images : 0;
}

SegmentSource OneImageOf(const SegmentSource& source) {
  SegmentSource one = source;
  for (SourceBlock& block : one.blocks) block.shape.dims[0] = 1;
  for (SourceTensor& tensor : one.tensors) {
    if (tensor.block >= 0) tensor.shape.dims[0] = 1;
  }
  return one;
}

LayerProgram ForImages(const LayerProgram& program, int images) {
  LayerProgram all = program;
  const auto maps = static_cast<int>(program.maps.size());
  for (int image = 1; image < images; ++image) {
    for (FeatureMap map : program.maps) {
      map.memory_row = image * map.height;
      all.maps.push_back(std::move(map));
    }
    for (Layer layer : program.layers) {
      layer.input.map += image * maps;
      layer.output.map += image * maps;
      if (layer.residual) layer.residual->other.map += image * maps;
      all.layers.push_back(std::move(layer));
    }
  }
  return all;
}

}  // namespace tenon::fpga

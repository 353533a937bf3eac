#include "backends/fpga/codegen/bands.hpp"

#include <algorithm>
#include <utility>

#include "backends/fpga/caps/limits.hpp"

namespace tenon::fpga {
namespace {

struct Rows {
  int begin = 0;
  int end = 0;
  [[nodiscard]] int Count() const { return end - begin; }
};

bool IsLargeSum(const Layer& layer) {
  return std::max(layer.window.kernel[0], layer.window.kernel[1]) > kMostKernel;
}

class Bander {
 public:
  Bander(const LayerProgram& program, const std::vector<bool>& banded, int bands)
      : program_(program), banded_(banded), bands_(bands) {}

  std::optional<LayerProgram> Run() {
    result_.maps = program_.maps;
    writer_.assign(program_.maps.size(), -1);
    for (size_t n = 0; n < program_.layers.size(); ++n) {
      writer_[static_cast<size_t>(program_.layers[n].output.map)] = static_cast<int>(n);
    }
    for (size_t n = 0; n < program_.layers.size(); ++n) {
      const Layer& layer = program_.layers[n];
      if (IsBetweenLayers(layer.output.map)) continue;  // comes with the layer that reads it
      const Rows all = {0, MapAt(layer.output.map).height};
      if (!TouchesBands(layer)) {
        result_.layers.push_back(layer);
        continue;
      }
      const int count = std::min(bands_, all.end);
      const int rows = (all.end + count - 1) / count;
      for (int begin = 0; begin < all.end; begin += rows) {
        if (AddBand(layer, {begin, std::min(begin + rows, all.end)}) < 0) return std::nullopt;
      }
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] const FeatureMap& MapAt(int map) const {
    return program_.maps[static_cast<size_t>(map)];
  }
  [[nodiscard]] bool IsBanded(int map) const { return banded_[static_cast<size_t>(map)]; }
  [[nodiscard]] bool IsBetweenLayers(int map) const {
    return IsBanded(map) && !MapAt(map).is_read && !MapAt(map).is_written;
  }
  [[nodiscard]] bool TouchesBands(const Layer& layer) const {
    return IsBanded(layer.input.map) || IsBanded(layer.output.map) ||
           (layer.residual && IsBanded(layer.residual->other.map));
  }

  /// A map of some rows of another, in its place in memory.
  int AddMap(int map, Rows rows, bool is_read, bool is_written) {
    FeatureMap band = MapAt(map);
    band.memory_row += rows.begin;
    band.height = rows.Count();
    band.is_read = is_read;
    band.is_written = is_written;
    result_.maps.push_back(std::move(band));
    return static_cast<int>(result_.maps.size()) - 1;
  }

  /// These rows of what a layer reads: on chip, loaded, or computed first; -1 if they cannot be.
  bool TakeRows(MapSlice& slice, Rows rows) {
    const int map = slice.map;
    if (IsBetweenLayers(map)) {
      slice.map =
          AddBand(program_.layers[static_cast<size_t>(writer_[static_cast<size_t>(map)])], rows);
      return slice.map >= 0;
    }
    // Rows of an image need not begin with a word on chip.
    if (IsBanded(map) || MapAt(map).folded) {
      slice.map = AddMap(map, rows, true, false);
    } else {
      slice.row = rows.begin;
      slice.rows = rows.Count();
    }
    return true;
  }

  /// Adds the layers that give these rows of a layer's output, and returns their map, or -1.
  int AddBand(const Layer& whole, Rows rows) {
    Layer layer = whole;
    const FeatureMap& input = MapAt(whole.input.map);
    Window& window = layer.window;
    const int first = rows.begin * window.strides[0] - window.pads[0];
    const int last = (rows.end - 1) * window.strides[0] - window.pads[0] +
                     (window.kernel[0] - 1) * window.dilations[0];
    Rows in = {std::max(first, 0), std::min(last + 1, input.height)};
    if (first >= input.height) return -1;
    in.end = std::max(in.end, in.begin + 1);
    window.pads[0] = in.begin - first;
    if (window.pads[0] > kMostPadding || !TakeRows(layer.input, in)) return -1;
    if (layer.residual && !TakeRows(layer.residual->other, rows)) return -1;
    const int map = whole.output.map;
    if (IsBanded(map)) {
      layer.output.map = AddMap(map, rows, false, MapAt(map).is_written);
    } else {
      layer.output.row = rows.begin;
      layer.output.rows = rows.Count();
    }
    const int output = layer.output.map;
    result_.layers.push_back(std::move(layer));
    return output;
  }

  const LayerProgram& program_;
  const std::vector<bool>& banded_;
  const int bands_;
  LayerProgram result_;
  std::vector<int> writer_;  ///< by map: its layer
};

}  // namespace

std::vector<bool> CanBeBanded(const LayerProgram& program) {
  const size_t maps = program.maps.size();
  std::vector<bool> can(maps, true);
  std::vector<int> readers(maps, 0);
  std::vector<int> writers(maps, 0);
  const auto is_one_group = [&](size_t map) { return program.maps[map].Groups() == 1; };
  for (const Layer& layer : program.layers) {
    const auto input = static_cast<size_t>(layer.input.map);
    const auto output = static_cast<size_t>(layer.output.map);
    ++readers[input];
    ++writers[output];
    if (IsLargeSum(layer)) can[input] = can[output] = false;
    if (layer.output.channels != program.maps[output].channels) can[output] = false;
    // The sum is taken with one distance from group to group, of the output.
    if (layer.residual && !is_one_group(output)) {
      can[output] = can[static_cast<size_t>(layer.residual->other.map)] = false;
    }
    if (layer.residual) ++readers[static_cast<size_t>(layer.residual->other.map)];
  }
  for (size_t m = 0; m < maps; ++m) {
    const FeatureMap& map = program.maps[m];
    if (map.height < 2 || (map.is_read && map.is_written)) can[m] = false;
    if (!map.is_read && writers[m] != 1) can[m] = false;
    if (!map.is_read && !map.is_written && readers[m] != 1) can[m] = false;
  }
  return can;
}

std::optional<LayerProgram> InBands(const LayerProgram& program, const std::vector<bool>& banded,
                                    int bands) {
  return Bander(program, banded, bands).Run();
}

}  // namespace tenon::fpga

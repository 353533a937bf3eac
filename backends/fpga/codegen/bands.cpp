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
    writers_.resize(program_.maps.size());
    for (const Layer& layer : program_.layers) WritersOf(layer.output.map).push_back(&layer);
    for (const Layer& layer : program_.layers) {
      const int map = layer.output.map;
      if (IsBetweenLayers(map)) continue;  // comes with the layer that reads it
      if (!TouchesBands(layer)) {
        result_.layers.push_back(layer);
        continue;
      }
      // Parts of a map come together, at the last one.
      if (IsBanded(map) && WritersOf(map).back() != &layer) continue;
      if (!AddBands(layer)) return std::nullopt;
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] const FeatureMap& MapAt(int map) const {
    return program_.maps[static_cast<size_t>(map)];
  }
  std::vector<const Layer*>& WritersOf(int map) { return writers_[static_cast<size_t>(map)]; }
  [[nodiscard]] bool IsBanded(int map) const { return banded_[static_cast<size_t>(map)]; }
  [[nodiscard]] bool IsBetweenLayers(int map) const {
    return IsBanded(map) && !MapAt(map).is_read && !MapAt(map).is_written;
  }
  [[nodiscard]] bool TouchesBands(const Layer& layer) const {
    return IsBanded(layer.input.map) || IsBanded(layer.output.map) ||
           (layer.residual && IsBanded(layer.residual->other.map));
  }

  bool AddBands(const Layer& layer) {
    const int height = MapAt(layer.output.map).height;
    const int count = std::min(bands_, height);
    const int rows = (height + count - 1) / count;
    for (int begin = 0; begin < height; begin += rows) {
      const Rows band = {begin, std::min(begin + rows, height)};
      if (IsBanded(layer.output.map) ? AddBandOf(layer.output.map, band) < 0
                                     : !AddBand(layer, band, -1)) {
        return false;
      }
    }
    return true;
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
      slice.map = AddBandOf(map, rows);
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

  /// Adds the layers that give these rows of a map in bands, and returns the band, or -1.
  int AddBandOf(int map, Rows rows) {
    const int band = AddMap(map, rows, false, MapAt(map).is_written);
    const std::vector<const Layer*> writers = WritersOf(map);
    const bool all = std::all_of(writers.begin(), writers.end(),
                                 [&](const Layer* writer) { return AddBand(*writer, rows, band); });
    return all ? band : -1;
  }

  /// Adds the layers that give these rows of a layer's output: into `band`, or, if that is -1, to
  /// where they lie in the whole map.
  bool AddBand(const Layer& whole, Rows rows, int band) {
    Layer layer = whole;
    const FeatureMap& input = MapAt(whole.input.map);
    Window& window = layer.window;
    const int first = rows.begin * window.strides[0] - window.pads[0];
    const int last = (rows.end - 1) * window.strides[0] - window.pads[0] +
                     (window.kernel[0] - 1) * window.dilations[0];
    Rows in = {std::max(first, 0), std::min(last + 1, input.height)};
    if (first >= input.height) return false;
    in.end = std::max(in.end, in.begin + 1);
    window.pads[0] = in.begin - first;
    if (window.pads[0] > kMostPadding || !TakeRows(layer.input, in)) return false;
    if (layer.residual && !TakeRows(layer.residual->other, rows)) return false;
    if (band >= 0) {
      layer.output.map = band;
    } else {
      layer.output.row = rows.begin;
      layer.output.rows = rows.Count();
    }
    result_.layers.push_back(std::move(layer));
    return true;
  }

  const LayerProgram& program_;
  const std::vector<bool>& banded_;
  const int bands_;
  LayerProgram result_;
  std::vector<std::vector<const Layer*>> writers_;  ///< by map
};

}  // namespace

std::vector<bool> CanBeBanded(const LayerProgram& program) {
  const size_t maps = program.maps.size();
  std::vector<bool> can(maps, true);
  std::vector<int> readers(maps, 0);
  std::vector<int> writers(maps, 0);
  for (const Layer& layer : program.layers) {
    const auto input = static_cast<size_t>(layer.input.map);
    const auto output = static_cast<size_t>(layer.output.map);
    ++readers[input];
    if (layer.residual) ++readers[static_cast<size_t>(layer.residual->other.map)];
    ++writers[output];
    if (IsLargeSum(layer)) can[input] = can[output] = false;
    if (readers[output] > 0) can[output] = false;  // before all of its parts are there
  }
  for (size_t m = 0; m < maps; ++m) {
    const FeatureMap& map = program.maps[m];
    if (map.height < 2 || (map.is_read && map.is_written)) can[m] = false;
    if (map.is_read ? writers[m] != 0 : writers[m] == 0) can[m] = false;
    if (!map.is_read && !map.is_written && readers[m] != 1) can[m] = false;
  }
  return can;
}

std::vector<std::pair<int, int>> BandedTogether(const LayerProgram& program) {
  std::vector<std::pair<int, int>> pairs;
  for (const Layer& layer : program.layers) {
    const int output = layer.output.map;
    if (layer.residual && program.maps[static_cast<size_t>(output)].Groups() > 1) {
      pairs.emplace_back(output, layer.residual->other.map);
    }
  }
  return pairs;
}

std::optional<LayerProgram> InBands(const LayerProgram& program, const std::vector<bool>& banded,
                                    int bands) {
  return Bander(program, banded, bands).Run();
}

}  // namespace tenon::fpga

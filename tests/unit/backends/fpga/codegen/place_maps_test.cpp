#include "backends/fpga/codegen/place_maps.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace tenon::fpga;  // NOLINT

namespace {

FeatureMap Map(int channels, int height, int width) {
  FeatureMap map;
  map.channels = channels;
  map.height = height;
  map.width = width;
  return map;
}

Layer LayerOf(int input, int output) {
  Layer layer;
  layer.input.map = input;
  layer.output.map = output;
  return layer;
}

CodeTarget WithWords(int64_t words) {
  CodeTarget target;
  target.map_bytes = words * target.input_channels;
  return target;
}

/// A chain of maps; some layers add to a map before them.
LayerProgram RandomChain(uint32_t seed) {
  std::mt19937 random(seed);
  LayerProgram program;
  const int count = 4 + static_cast<int>(random() % 12);
  for (int m = 0; m < count; ++m) {
    program.maps.push_back(Map(1 + static_cast<int>(random() % 100),
                               1 + static_cast<int>(random() % 9),
                               1 + static_cast<int>(random() % 9)));
  }
  for (int m = 1; m < count; ++m) {
    Layer layer = LayerOf(static_cast<int>(random() % static_cast<uint32_t>(m)), m);
    if (m > 2 && random() % 3 == 0) {
      layer.residual.emplace();
      layer.residual->other.map = static_cast<int>(random() % static_cast<uint32_t>(m));
      program.maps[static_cast<size_t>(m)] =
          program.maps[static_cast<size_t>(layer.residual->other.map)];
    }
    program.layers.push_back(layer);
  }
  program.maps[0].is_read = true;
  program.maps.back().is_written = true;
  return program;
}

/// True if some layer finds words of one map overwritten by another that it, or a layer between,
/// writes.
bool IsOverwritten(const LayerProgram& program, const MapPlaces& places) {
  std::vector<int> owner(static_cast<size_t>(places.words), -1);
  const auto holds = [&](int map) {
    const int64_t place = places.word[static_cast<size_t>(map)];
    if (place < 0) return true;
    const int64_t words = WordsOf(program.maps[static_cast<size_t>(map)]);
    for (int64_t w = place; w < place + words; ++w) {
      if (owner[static_cast<size_t>(w)] != map) return false;
    }
    return true;
  };
  const auto fill = [&](int map) {
    const int64_t place = places.word[static_cast<size_t>(map)];
    const int64_t words = WordsOf(program.maps[static_cast<size_t>(map)]);
    for (int64_t w = place; place >= 0 && w < place + words; ++w) {
      owner[static_cast<size_t>(w)] = map;
    }
  };
  std::vector<bool> loaded(program.maps.size(), false);
  const auto load = [&](int map) {
    if (program.maps[static_cast<size_t>(map)].is_read && !loaded[static_cast<size_t>(map)]) {
      fill(map);
    }
    loaded[static_cast<size_t>(map)] = true;
  };
  for (const Layer& layer : program.layers) {
    load(layer.input.map);
    if (layer.residual) load(layer.residual->other.map);
    if (!holds(layer.input.map)) return true;
    if (layer.residual && !holds(layer.residual->other.map)) return true;
    fill(layer.output.map);
    // While it is written, its input is still read.
    if (layer.input.map != layer.output.map && !holds(layer.input.map)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("PlaceMaps: maps that are alive together share no words, in whatever space there is") {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const LayerProgram program = RandomChain(seed);
    const int64_t words[] = {1 << 16, 300, 100, 20, 1};
    int spilled = 0;
    for (const int64_t most : words) {
      const MapPlaces places = PlaceMaps(program, WithWords(most));
      CHECK(places.words <= most);
      CHECK_FALSE(IsOverwritten(program, places));
      CHECK(places.spilled >= spilled);
      spilled = places.spilled;
    }
  }
}

TEST_CASE("PlaceMaps: what others read and write is on chip too while layers use it") {
  LayerProgram program;
  program.maps = {Map(3, 8, 8), Map(64, 8, 8), Map(10, 1, 1)};
  program.maps[0].is_read = true;
  program.maps[0].folded = true;
  program.maps[2].is_written = true;
  program.layers = {LayerOf(0, 1), LayerOf(1, 2)};
  const MapPlaces places = PlaceMaps(program, WithWords(1024));
  CHECK(places.word[1] == 0);
  CHECK(places.word[0] == 2 * 64);
  CHECK(places.word[2] >= 2 * 64);
  CHECK(places.words == 2 * 64 + 8);
  CHECK(places.spilled == 0);
}

TEST_CASE("PlaceMaps: a layer reads and writes different banks where there is room") {
  LayerProgram program;
  program.maps = {Map(3, 8, 8), Map(32, 8, 8), Map(32, 8, 8), Map(10, 1, 1)};
  program.maps[0].is_read = true;
  program.maps[3].is_written = true;
  program.layers = {LayerOf(0, 1), LayerOf(1, 2), LayerOf(2, 3)};
  const MapPlaces wide = PlaceMaps(program, WithWords(3 * kBankWords));
  CHECK(wide.word[1] / kBankWords != wide.word[2] / kBankWords);
  const MapPlaces narrow = PlaceMaps(program, WithWords(kBankWords));
  CHECK(narrow.spilled == 0);
}

TEST_CASE("PlaceMaps: a sum is written over what it adds to, where nothing else reads that") {
  LayerProgram program;
  program.maps = {Map(3, 8, 8), Map(32, 8, 8), Map(32, 8, 8), Map(32, 8, 8), Map(10, 1, 1)};
  program.maps[0].is_read = true;
  program.maps[4].is_written = true;
  program.layers = {LayerOf(0, 1), LayerOf(1, 2), LayerOf(2, 3), LayerOf(3, 4)};
  program.layers[2].residual.emplace();
  program.layers[2].residual->other.map = 1;
  const MapPlaces places = PlaceMaps(program, WithWords(128));
  CHECK(places.word[3] == places.word[1]);
  CHECK(places.spilled == 0);
}

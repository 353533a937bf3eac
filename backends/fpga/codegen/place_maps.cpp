#include "backends/fpga/codegen/place_maps.hpp"

#include <algorithm>
#include <numeric>

namespace tenon::fpga {
namespace {

/// Maps that take the same words, one after the other, and when they are alive.
struct MapBlock {
  std::vector<int> maps;
  int first = 0;  ///< layer
  int last = 0;
  int64_t words = 0;
  int64_t place = -1;
};

class Placer {
 public:
  Placer(const LayerProgram& program, int64_t words, const std::vector<bool>& without_room)
      : program_(program), most_(words), without_room_(without_room) {}

  MapPlaces Run() {
    FindLives();
    result_.word.assign(program_.maps.size(), kUnused);
    while (!TryToPlace()) Spill();
    for (const MapBlock& block : blocks_) {
      for (const int map : block.maps) result_.word[static_cast<size_t>(map)] = block.place;
      result_.words = std::max(result_.words, block.place + block.words);
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] const FeatureMap& MapAt(int map) const {
    return program_.maps[static_cast<size_t>(map)];
  }

  void FindLives() {
    first_.assign(program_.maps.size(), static_cast<int>(program_.layers.size()));
    last_.assign(program_.maps.size(), -1);
    for (size_t n = 0; n < program_.layers.size(); ++n) {
      const Layer& layer = program_.layers[n];
      Use(layer.input.map, static_cast<int>(n));
      Use(layer.output.map, static_cast<int>(n));
      if (layer.residual) Use(layer.residual->other.map, static_cast<int>(n));
    }
  }
  void Use(int map, int layer) {
    const auto m = static_cast<size_t>(map);
    first_[m] = std::min(first_[m], layer);
    last_[m] = std::max(last_[m], layer);
  }

  [[nodiscard]] bool IsOnChip(int map) const {
    return result_.word[static_cast<size_t>(map)] == kUnused &&
           last_[static_cast<size_t>(map)] >= 0;
  }

  /// A sum takes over the words of what it adds to, where that ends with it.
  void MakeBlocks() {
    blocks_.clear();
    std::vector<int> block_of(program_.maps.size(), -1);
    for (size_t m = 0; m < program_.maps.size(); ++m) {
      if (!IsOnChip(static_cast<int>(m))) continue;
      block_of[m] = static_cast<int>(blocks_.size());
      blocks_.push_back(
          {{static_cast<int>(m)}, first_[m], last_[m], WordsOf(program_.maps[m]), -1});
    }
    for (size_t n = 0; n < program_.layers.size(); ++n) {
      const Layer& layer = program_.layers[n];
      if (!layer.residual) continue;
      const auto from = static_cast<size_t>(layer.residual->other.map);
      const auto to = static_cast<size_t>(layer.output.map);
      if (from == to || block_of[from] < 0 || block_of[to] < 0 ||
          last_[from] != static_cast<int>(n) || first_[to] != static_cast<int>(n) ||
          layer.input.map == layer.residual->other.map ||
          WordsOf(MapAt(static_cast<int>(from))) != WordsOf(MapAt(static_cast<int>(to)))) {
        continue;
      }
      Join(block_of, block_of[from], block_of[to]);
    }
    std::erase_if(blocks_, [](const MapBlock& block) { return block.maps.empty(); });
  }

  void Join(std::vector<int>& block_of, int into, int other) {
    if (into == other) return;
    MapBlock& target = blocks_[static_cast<size_t>(into)];
    MapBlock& source = blocks_[static_cast<size_t>(other)];
    for (const int map : source.maps) {
      target.maps.push_back(map);
      block_of[static_cast<size_t>(map)] = into;
    }
    target.first = std::min(target.first, source.first);
    target.last = std::max(target.last, source.last);
    source.maps.clear();
  }

  static bool Meet(const MapBlock& a, const MapBlock& b) {
    return a.first <= b.last && b.first <= a.last;
  }

  /// True if a layer uses maps of both.
  [[nodiscard]] bool ShareLayer(const MapBlock& a, const MapBlock& b) const {
    return std::any_of(program_.layers.begin(), program_.layers.end(), [&](const Layer& layer) {
      const auto uses = [&](const MapBlock& block) {
        return std::any_of(block.maps.begin(), block.maps.end(), [&](int map) {
          return map == layer.input.map || map == layer.output.map ||
                 (layer.residual && map == layer.residual->other.map);
        });
      };
      return uses(a) && uses(b);
    });
  }

  /// The largest first, each at the lowest place that is free while it lives; if there is one, in
  /// banks that its layers' other maps do not use.
  bool TryToPlace() {
    MakeBlocks();
    std::vector<size_t> order(blocks_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return blocks_[a].words > blocks_[b].words; });
    for (size_t i = 0; i < order.size(); ++i) {
      MapBlock& block = blocks_[order[i]];
      block.place = FreePlace(block, order, i, /*own_banks=*/true);
      if (block.place < 0) block.place = FreePlace(block, order, i, /*own_banks=*/false);
      if (block.place < 0) return false;
    }
    return true;
  }

  [[nodiscard]] int64_t FreePlace(const MapBlock& block, const std::vector<size_t>& order,
                                  size_t placed, bool own_banks) const {
    std::vector<std::pair<int64_t, int64_t>> taken;  // [begin, end), while the block is alive
    for (size_t i = 0; i < placed; ++i) {
      const MapBlock& other = blocks_[order[i]];
      if (!Meet(block, other)) continue;
      int64_t begin = other.place;
      int64_t end = other.place + other.words;
      if (own_banks && ShareLayer(block, other)) {
        begin = begin / kBankWords * kBankWords;
        end = (end + kBankWords - 1) / kBankWords * kBankWords;
      }
      taken.emplace_back(begin, end);
    }
    std::sort(taken.begin(), taken.end());
    int64_t place = 0;
    for (const auto& [begin, end] : taken) {
      if (place + block.words <= begin) break;
      place = std::max(place, end);
    }
    return place + block.words <= most_ ? place : -1;
  }

  [[nodiscard]] bool MayBeWithoutRoom(const MapBlock& block) const {
    return std::all_of(block.maps.begin(), block.maps.end(), [&](int map) {
      return without_room_.empty() || without_room_[static_cast<size_t>(map)];
    });
  }

  /// The largest map at the layer at which most words are alive, of those that may be.
  void Spill() {
    int worst = 0;
    int64_t most = -1;
    for (int n = 0; n < static_cast<int>(program_.layers.size()); ++n) {
      int64_t alive = 0;
      for (const MapBlock& block : blocks_) {
        if (block.first <= n && n <= block.last) alive += block.words;
      }
      if (alive <= most) continue;
      most = alive;
      worst = n;
    }
    const MapBlock* largest = nullptr;
    for (const MapBlock& block : blocks_) {
      if (block.first > worst || worst > block.last) continue;
      const auto rank = [&](const MapBlock& of) {
        return std::pair(MayBeWithoutRoom(of), of.words);
      };
      if (largest == nullptr || rank(block) > rank(*largest)) largest = &block;
    }
    for (const int map : largest->maps) {
      result_.word[static_cast<size_t>(map)] = kNoRoom;
      ++result_.spilled;
    }
  }

  const LayerProgram& program_;
  int64_t most_;
  const std::vector<bool>& without_room_;
  MapPlaces result_;
  std::vector<int> first_;  ///< by map: layer
  std::vector<int> last_;
  std::vector<MapBlock> blocks_;
};

}  // namespace

int64_t WordsOf(const FeatureMap& map) {
  constexpr int64_t kFoldedPixels = 8;  // in a word
  if (map.folded) return (map.Pixels() + kFoldedPixels - 1) / kFoldedPixels;
  return int64_t{map.Groups()} * map.Pixels();
}

MapPlaces PlaceMaps(const LayerProgram& program, const CodeTarget& target,
                    const std::vector<bool>& without_room) {
  return Placer(program, target.map_bytes / target.input_channels, without_room).Run();
}

}  // namespace tenon::fpga

// Remembers placements. Whoever compiles a graph again and again, with other cuts or kernels,
// places the same buffers many times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "converter/solve/place/place.hpp"

namespace tenon::converter {

class PlacementMemo {
 public:
  /// Returns what PlaceBuffers does, with the work of the first time. Nothing is remembered of
  /// searches that a clock may stop.
  [[nodiscard]] Placement Place(const std::vector<Buffer>& buffers, const PlaceOptions& options);

  /// Returns how many placements are remembered.
  [[nodiscard]] size_t size() const { return known_.size(); }

 private:
  using Key = std::vector<int64_t>;
  struct Hash {
    size_t operator()(const Key& key) const;
  };

  std::unordered_map<Key, Placement, Hash> known_;
  size_t numbers_ = 0;  ///< of all keys
};

}  // namespace tenon::converter

// Finds places on the chip for the feature maps of a segment, and says which stay in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/fpga/codegen/layers.hpp"
#include "backends/fpga/codegen/segment_code.hpp"

namespace tenon::fpga {

/// On chip a map is groups of channels of rows of pixels of words; a word is 32 channels.
inline constexpr int kWordBytes = 32;
/// Words of one bank of the on-chip memory: a layer that reads and writes different banks never
/// waits for a port.
inline constexpr int64_t kBankWords = 4096;

inline constexpr int64_t kInMemory = -1;
inline constexpr int64_t kUnused = -2;

struct MapPlaces {
  std::vector<int64_t> word;  ///< by map: of its first byte; kInMemory or kUnused
  int64_t words = 0;          ///< used at most
  int spilled = 0;            ///< maps that only the segment's layers use, yet lie in memory

  [[nodiscard]] bool IsInMemory(int map) const {
    return word[static_cast<size_t>(map)] == kInMemory;
  }
};

[[nodiscard]] int64_t WordsOf(const FeatureMap& map);

/// Maps that others read or write stay in memory: layers fetch and store them as they go. All
/// others are on chip from the first layer that writes them to the last that reads them, but for
/// the largest where they do not fit together. A sum may be written over what it adds to.
/// Deterministic.
[[nodiscard]] MapPlaces PlaceMaps(const LayerProgram& program, const CodeTarget& target);

}  // namespace tenon::fpga

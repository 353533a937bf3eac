// Finds places on the chip for the feature maps of a segment, and says which have no room.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/fpga/codegen/layers.hpp"
#include "backends/fpga/codegen/segment_code.hpp"

namespace tenon::fpga {

/// On chip a map is groups of channels of rows of pixels of words; a word is a group of channels.
/// Words of a set of the on-chip memory's banks, four of 4,096 words whose words take turns
/// (rtl/map_banks.sv): a layer that reads and writes different sets never waits for a port.
inline constexpr int64_t kBankWords = 4 * 4096;

inline constexpr int64_t kNoRoom = -1;
inline constexpr int64_t kUnused = -2;

struct MapPlaces {
  std::vector<int64_t> word;  ///< by map: of its first byte; kNoRoom or kUnused
  int64_t words = 0;          ///< used at most
  int spilled = 0;            ///< maps without room
};

[[nodiscard]] int64_t WordsOf(const FeatureMap& map);

/// Every map is on chip from the first layer that uses it to the last; those that others read or
/// write are loaded and stored by layers. Where they do not fit together the largest have no room,
/// those of `without_room` (by map; none: any) if there are such. A sum may be written over what it
/// adds to. Deterministic.
[[nodiscard]] MapPlaces PlaceMaps(const LayerProgram& program, const CodeTarget& target,
                                  const std::vector<bool>& without_room = {});

}  // namespace tenon::fpga

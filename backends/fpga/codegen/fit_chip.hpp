// Makes the maps of a segment fit the chip: all of it at once, or some of them band by band.
#pragma once

#include "backends/fpga/codegen/layers.hpp"
#include "backends/fpga/codegen/place_maps.hpp"

namespace tenon::fpga {

struct FittedProgram {
  LayerProgram program;
  MapPlaces places;
  int64_t scratch_bytes = 0;  ///< of memory, beside the blocks
};

/// Maps without room go band by band, in as few bands as it takes. What several layers read goes
/// through memory for that: its writer stores it into the segment's scratch memory, and each reader
/// loads its own bands. Where all that does not help the program is as it was, and its places say
/// which map has no room. Deterministic.
[[nodiscard]] FittedProgram FitChip(const LayerProgram& program, const CodeTarget& target);

}  // namespace tenon::fpga

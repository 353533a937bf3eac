// Finds places in a segment's scratch memory for the maps that have no room on the chip.
#pragma once

#include <cstdint>

#include "backends/fpga/codegen/layers.hpp"

namespace tenon::fpga {

/// Places every map whose block is kScratchBlock: before, its offset is a number that it shares
/// with its bands alone. Maps share bytes unless some layer lies between the first and the last use
/// of both. Returns the bytes that all take.
int64_t PlaceScratch(LayerProgram& program);

}  // namespace tenon::fpga

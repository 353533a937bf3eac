// How many pixels a layer's blocks have.
#pragma once

#include <cstdint>

namespace tenon::fpga {

/// What decides on the blocks of a layer whose weights stay on the chip.
struct BlockLoad {
  double array_clocks = 0;  ///< all passes of a group of outputs, for a pixel
  double drain_clocks = 1;  ///< the same pixel's way through the lanes
  int64_t pixels = 0;
  int64_t groups = 1;
};

/// Pixels of a block, at most `most`. Short ones where the array is slower than the drain: a layer
/// ends with the drain of its last block, which nothing hides. Where both take about as long each
/// block costs a hand-over besides, since there are only two of them.
[[nodiscard]] int64_t BlockPixelsFor(const BlockLoad& load, int64_t most);

}  // namespace tenon::fpga

#include "backends/fpga/codegen/blocks.hpp"

#include <algorithm>
#include <cmath>

namespace tenon::fpga {
namespace {

constexpr int64_t kShort = 64;  ///< its pass hides the loading of the next tile
constexpr double kHandOver =
    40;  ///< clocks from a block's last sum to its first byte, and to its freeing
constexpr double kHidden = 0.75;  ///< clocks a pixel that hide them in a short block
constexpr int64_t kDrainBound = 128;

}  // namespace

int64_t BlockPixelsFor(const BlockLoad& load, int64_t most) {
  int64_t pixels = kShort;
  if (load.array_clocks < load.drain_clocks + kHidden) {
    // The hand-overs of pixels / b blocks, of which two overlap, and the last block's drain: least
    // at
    const double total = static_cast<double>(load.pixels * load.groups) * load.drain_clocks;
    pixels = static_cast<int64_t>(std::sqrt(kHandOver / 2 * total) / load.drain_clocks);
    if (2 * load.array_clocks <= load.drain_clocks) pixels = kDrainBound;
  }
  return std::clamp(pixels, kShort, std::max(kShort, most));
}

}  // namespace tenon::fpga

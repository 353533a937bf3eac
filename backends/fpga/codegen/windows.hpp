// Which depthwise layers the accelerator runs by windows of nine taps a clock instead of tap by
// tap, and what that takes (docs/accelerator.md).
#pragma once

#include <cstdint>

#include "backends/fpga/codegen/layers.hpp"

namespace tenon::fpga {

/// Columns of an image's windows that one pass takes, where few channels are folded into lanes.
constexpr int kFoldedColumns = 8;

/// The window with strides that do not matter, along one row or column of outputs, made those that
/// do.
[[nodiscard]] Window SimplestWindow(const Layer& layer, const FeatureMap& output);

/// True if the layer can run by windows on an array of `group` channels with blocks of at most
/// `block_pixels`, and is quicker so.
[[nodiscard]] bool RunsByWindows(const Layer& layer, const FeatureMap& output, int group,
                                 int block_pixels);

/// Clocks of all passes of a group of channels over `rows` rows of outputs, without what they wait
/// for; a pass takes at least `tile_clocks`.
[[nodiscard]] int64_t WindowedClocks(const Layer& layer, const FeatureMap& output, int rows,
                                     int tile_clocks);

/// The largest number of pixels up to `most` that is pairs of rows of the output, at least one.
[[nodiscard]] int64_t PairsOfRows(const FeatureMap& output, int64_t most);

}  // namespace tenon::fpga

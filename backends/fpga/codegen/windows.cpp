#include "backends/fpga/codegen/windows.hpp"

#include <algorithm>

#include "backends/fpga/caps/limits.hpp"
#include "backends/fpga/isa/descriptor.hpp"

namespace tenon::fpga {
namespace {

constexpr int kTaps = static_cast<int>(isa::kWindowTaps);
constexpr int kBetweenPasses = 3;

int Up(int a, int b) { return (a + b - 1) / b; }

/// Clocks of a pass over one row of outputs, or two; as rtl/window_walk.sv counts them.
int RowClocks(const Window& window, int width, bool has_second, int kernel_rows,
              int kernel_column) {
  const int stride = window.strides[1];
  const int rows = kernel_rows + (has_second ? stride : 0);
  const int column = std::max(stride == 2 ? rows : Up(rows, 2), has_second ? 2 : 1);
  const int first = kernel_column - window.pads[1];
  int clocks = width * column;
  const int filled = stride == 2 ? 1 : 2;  // columns, or pairs of them, before the first output
  for (int i = 0; i < filled; ++i) clocks += first + i >= 0 ? column : i == 0 ? 2 : 1;
  return clocks;
}

int64_t ByTaps(const Layer& layer, int64_t pixels, int tile_clocks) {
  return layer.Taps() * std::max<int64_t>((pixels + 1) / 2, tile_clocks);
}

}  // namespace

Window SimplestWindow(const Layer& layer, const FeatureMap& output) {
  Window window = layer.window;
  const int sizes[2] = {output.height, output.width};
  for (int i = 0; i < 2; ++i) {
    if (sizes[i] == 1) window.strides[i] = window.strides[1 - i];
  }
  if (output.height == 1 && output.width == 1) window.strides[0] = window.strides[1] = 1;
  return window;
}

int64_t PairsOfRows(const FeatureMap& output, int64_t most) {
  const int64_t pair = int64_t{2} * output.width;
  return std::max<int64_t>(most / pair, 1) * pair;
}

int64_t WindowedClocks(const Layer& layer, const FeatureMap& output, int rows, int tile_clocks) {
  const Window window = SimplestWindow(layer, output);
  int64_t clocks = 0;
  for (int row = 0; row < window.kernel[0]; row += kTaps) {
    const int kernel_rows = std::min(kTaps, window.kernel[0] - row);
    for (int column = 0; column < window.kernel[1]; column += kTaps) {
      int64_t pass = int64_t{rows / 2} * RowClocks(window, output.width, true, kernel_rows, column);
      if (rows % 2 != 0) pass += RowClocks(window, output.width, false, kernel_rows, column);
      clocks += std::max<int64_t>(pass + kBetweenPasses, tile_clocks);
    }
  }
  return clocks;
}

bool RunsByWindows(const Layer& layer, const FeatureMap& output, int group, int block_pixels) {
  if (layer.kind != LayerKind::kDepthwise && layer.kind != LayerKind::kSum) return false;
  const Window window = SimplestWindow(layer, output);
  const int tile_clocks = group * group / 64;
  return group >= kTaps * kTaps && window.strides[0] == window.strides[1] &&
         window.strides[1] <= 2 && window.dilations[0] == 1 && window.dilations[1] == 1 &&
         std::max(window.kernel[0], window.kernel[1]) <= kMostKernel &&
         2 * output.width <= block_pixels &&
         WindowedClocks(layer, output, output.height, tile_clocks) <
             ByTaps(layer, output.Pixels(), tile_clocks);
}

}  // namespace tenon::fpga

// A segment as the accelerator runs it, before it is placed and encoded: layers on feature maps.
// Bytes are as the accelerator stores them: i8, u8 maps with their top bit flipped.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/fpga/codegen/residual_tables.hpp"
#include "runtime/ops/functions.hpp"

namespace tenon::fpga {

/// In place of a block: the segment's scratch memory, which lies beside the blocks.
inline constexpr int kScratchBlock = -2;

/// A block of the source as rows of pixels of channels.
struct FeatureMap {
  std::string name;
  int channels = 0;
  int height = 1;
  int width = 1;
  int block = -1;           ///< of the source, or kScratchBlock
  int64_t offset = 0;       ///< of kScratchBlock: bytes
  int memory_row = 0;       ///< of the block or from the offset on, which the map's first row is
  int32_t flip = 0;         ///< 128: the block holds u8
  bool is_read = false;     ///< it is in memory before the first layer
  bool is_written = false;  ///< it is wanted in memory after the last
  bool folded = false;      ///< on the chip it has 4 bytes a pixel, side by side in words
  int group = 32;           ///< channels of a word on the chip

  [[nodiscard]] int Groups() const { return (channels + group - 1) / group; }
  [[nodiscard]] int Pixels() const { return height * width; }
};

/// Channels of a map, and rows.
struct MapSlice {
  int map = -1;
  int channel = 0;
  int channels = 0;
  int row = 0;
  int rows = 0;  ///< 0: all
};

/// How a window moves; index 0: rows, 1: columns.
struct Window {
  int kernel[2] = {1, 1};
  int strides[2] = {1, 1};
  int dilations[2] = {1, 1};
  int pads[2] = {0, 0};  ///< before the first row and column
  int8_t padding = 0;    ///< what is read outside of the map
};

/// From sums to bytes, as runtime/ops/requantize.hpp says; by output channel.
struct Requantise {
  Rounding rounding = Rounding::kHalfEven;
  std::vector<int32_t> bias;
  std::vector<uint32_t> multipliers;  ///< kHalfEven: the bits of an f32
  std::vector<int8_t> shifts;         ///< of fixed point; at most 0
  int32_t zero_point = 0;
  int32_t min = -128;
  int32_t max = 127;
};

/// The layer's bytes are added to those of another map of the same shape.
struct Residual {
  MapSlice other;
  AddTables tables;  ///< x: of the layer's bytes, y: of the other map's
  /// Of the sum of two entries: kHalfEven shifts by AddTables::fraction_bits, kFixedPoint
  /// multiplies.
  Rounding rounding = Rounding::kHalfEven;
  int32_t multiplier = 0;
  int32_t shift = 0;
  int32_t zero_point = 0;
  int32_t min = -128;
  int32_t max = 127;
};

enum class LayerKind : uint8_t {
  kConv,       ///< all input channels for each output channel
  kDepthwise,  ///< one filter for each channel
  kSum,        ///< a depthwise convolution whose weights are all 1
  kMaxPool,    ///< no sums: bytes are compared and stored as they are
};

struct Layer {
  LayerKind kind = LayerKind::kConv;
  int op = -1;  ///< of the source, the last one that it stands for
  MapSlice input;
  MapSlice output;
  Window window;
  /// [output][row][column][input] of kConv, [channel][row][column] of kDepthwise.
  std::vector<int8_t> weights;
  Requantise requantise;
  std::optional<std::array<int8_t, 256>> table;  ///< of the result; entry i: of the byte i - 128
  std::optional<Residual> residual;              ///< after the table

  [[nodiscard]] int Taps() const { return window.kernel[0] * window.kernel[1]; }
};

struct LayerProgram {
  std::vector<FeatureMap> maps;
  std::vector<Layer> layers;

  /// The slice's map, as if it had the slice's rows only.
  [[nodiscard]] FeatureMap RowsOf(const MapSlice& slice) const {
    FeatureMap map = maps[static_cast<size_t>(slice.map)];
    if (slice.rows > 0) map.height = slice.rows;
    return map;
  }
};

/// Multiply-accumulates of the layer as the network counts them.
[[nodiscard]] int64_t MultiplyAccumulates(const LayerProgram& program, const Layer& layer);

}  // namespace tenon::fpga

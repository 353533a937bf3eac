// A descriptor is what the accelerator fetches for each layer: 32 words of 32 bits, little-endian,
// which follow each other in memory; the last has `last` set. docs/accelerator.md says how they are
// executed.
//
// On chip a map is [groups][height][width][group bytes]: its address counts words of a group. An
// image is [height][width][4 bytes], 8 pixels in a word of 32 (`folded`). In memory a map is
// [height][width][channels], with `pitch` bytes from pixel to pixel.
#pragma once

#include <cstdint>

#include "runtime/base/status.hpp"

namespace tenon::fpga::isa {

inline constexpr uint32_t kDescriptorWords = 32;
inline constexpr uint32_t kDescriptorBytes = 4 * kDescriptorWords;
/// All words of a descriptor add up to this number, modulo 2^32.
inline constexpr uint32_t kChecksum = 0x7E404E43;

enum class LayerOp : uint32_t {
  kTransfer = 0,   ///< loads and stores only
  kConv = 1,       ///< all groups of inputs for each group of outputs
  kDepthwise = 2,  ///< the output's group of inputs: its tiles of weights are diagonal
  kMaxPool = 3,    ///< the same, with the largest product in place of the sum; no requantisation
};

/// How sums are rounded (runtime/ops/requantize.hpp), as the lanes number it.
enum class RoundingMode : uint32_t {
  kHalfEven = 0,        ///< of a float32 product
  kFixedPoint = 1,      ///< halves up, then halves away from zero
  kFixedPointOnce = 2,  ///< halves up
  kHalfAway = 3,        ///< of the exact product
  kExactHalfEven = 4,   ///< of the exact product
};

/// An address in memory: an offset from a base register.
struct MemoryAddress {
  uint32_t base_register = 0;
  uint32_t offset = 0;
};

/// A map in memory.
struct MemoryMap {
  bool used = false;
  MemoryAddress address;
  uint32_t channels = 0;
  uint32_t pitch = 0;  ///< bytes from pixel to pixel; of a store `channels`
  bool flip = false;   ///< u8 in memory: the top bit of each byte is flipped
};

struct Window {
  uint32_t kernel_height = 1, kernel_width = 1;      ///< 1 to 15
  uint32_t stride_height = 1, stride_width = 1;      ///< 1 to 15
  uint32_t dilation_height = 1, dilation_width = 1;  ///< 1 to 15; `folded`: width 1
  uint32_t pad_top = 0, pad_left = 0;                ///< 0 to 255
};

/// Bounds are of the byte that is stored.
struct OutputBounds {
  int32_t zero_point = 0;  ///< -128 to 127, as all three
  int32_t least = -128;
  int32_t most = 127;
};

struct Descriptor {
  LayerOp op = LayerOp::kTransfer;
  bool last = false;
  bool folded = false;     ///< the input is an image: the taps of a kernel row share the channels
  bool by_block = false;   ///< all groups of outputs of a block of pixels before the next block
  bool reload = false;     ///< each block fetches its weights again
  bool windowed = false;   ///< kDepthwise: a pass takes the taps of 3 rows and 3 columns
  bool has_table = false;  ///< bytes are looked up in a table before they are added or stored
  bool has_residual = false;

  uint32_t input = 0, output = 0, residual = 0;  ///< words on chip
  uint32_t in_height = 1, in_width = 1, in_groups = 1;
  uint32_t out_height = 1, out_width = 1, out_groups = 1;
  /// Words from a group to the next, of maps of which these are some rows; 0: they are all. What is
  /// stored has all its rows on chip.
  uint32_t in_group_words = 0, out_group_words = 0;
  Window window;
  int32_t padding = 0;        ///< the byte outside of the map
  uint32_t blocks = 1;        ///< of pixels, all but the last of
  uint32_t block_pixels = 2;  ///< so many: an even number, at most Parameters::BlockPixels
                              ///< (`windowed`: pairs of rows)

  RoundingMode rounding = RoundingMode::kHalfEven;
  OutputBounds bounds;
  RoundingMode residual_rounding = RoundingMode::kExactHalfEven;
  uint32_t residual_multiplier = 0;  ///< below 2^31
  uint32_t residual_shift = 0;       ///< 0 to 63
  OutputBounds residual_bounds;

  /// Lines of weights in four planes: bytes i * 16 to i * 16 + 15 of each line of 64 lie in plane
  /// i.
  MemoryAddress weights;     ///< of plane 0, a multiple of 16
  uint32_t plane_bytes = 0;  ///< from plane to plane, a multiple of 16
  uint32_t group_lines = 0;  ///< of a group of outputs: factors and tiles
  MemoryAddress tables;      ///< 256 bytes; then 2 x 256 words, of the layer's and the other bytes
  MemoryMap load;            ///< of the input, before and while the layer runs
  MemoryMap store;           ///< of the output
};

/// Rows and columns of a kernel in one pass of a windowed layer.
inline constexpr uint32_t kWindowTaps = 3;

/// True if each pair of neighbouring windows of an image so wide lies in the two words that a clock
/// reads, wherever they are: only then may they be `folded`.
[[nodiscard]] bool FoldedWindowsFit(uint32_t in_width, const Window& window);

/// Passes over a block of pixels for one group of outputs.
[[nodiscard]] uint32_t PassesOf(const Descriptor& descriptor);

void Encode(const Descriptor& descriptor, uint32_t (&words)[kDescriptorWords]);

/// Errors (kInvalidPlan): a word or a field that means nothing; the message names the field.
[[nodiscard]] Status Decode(const uint32_t (&words)[kDescriptorWords], Descriptor& descriptor);

}  // namespace tenon::fpga::isa

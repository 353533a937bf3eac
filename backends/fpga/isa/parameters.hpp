// What a build of the accelerator has: the sizes of its array and of its buffers. Code is made for
// one set of parameters, and refused by an accelerator with others.
#pragma once

#include <cstdint>

#include "backends/fpga/isa/registers.hpp"

namespace tenon::fpga::isa {

/// Of the format of descriptors, weights and maps.
inline constexpr uint32_t kFormatVersion = 2;

/// Sizes of groups of channels that the RTL can be built for.
constexpr bool IsGroup(int channels) { return channels == 8 || channels == 16 || channels == 32; }

struct Parameters {
  uint32_t group = 32;             ///< channels in a word of a map; inputs and outputs of the array
  uint32_t pixels = 2;             ///< in a cycle
  uint32_t entries = 256;          ///< of a block of accumulators; an entry holds `pixels` pixels
  uint32_t map_words = 48 * 1024;  ///< of `group` bytes
  uint32_t weight_lines = 2560;    ///< of 64 bytes: what the ring of weights holds

  [[nodiscard]] uint32_t BlockPixels() const { return entries * pixels; }
  /// Lines of one tile of group x group weights.
  [[nodiscard]] uint32_t TileLines() const { return group * group / 64; }
  /// Lines of the biases, factors and shifts of a group of outputs.
  static constexpr uint32_t kFactorLines = 5;

  /// As the parameter registers give them.
  void Encode(uint32_t (&words)[kParameters]) const {
    words[0] = group;
    words[1] = group << 16 | pixels;
    words[2] = map_words;
    words[3] = weight_lines << 16 | entries;
  }
  [[nodiscard]] static Parameters Decode(const uint32_t (&words)[kParameters]) {
    return {words[0], words[1] & 0xFFFF, words[3] & 0xFFFF, words[2], words[3] >> 16};
  }
};

}  // namespace tenon::fpga::isa

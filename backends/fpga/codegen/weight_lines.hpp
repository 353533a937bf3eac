// Packs factors and weights as the accelerator's array takes them (docs/accelerator.md).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backends/fpga/codegen/layers.hpp"
#include "backends/fpga/isa/parameters.hpp"

namespace tenon::fpga {

/// 64 bytes.
using WeightLine = std::array<uint8_t, 64>;

/// How a layer's sums are made of passes over its input.
struct PassShape {
  int rows = 1;  ///< of the window
  int columns = 1;
  int groups = 1;         ///< of input channels that each group of outputs sums over
  bool folded = false;    ///< the columns of a row lie side by side
  bool diagonal = false;  ///< each output channel has its own input channel
  bool windowed = false;  ///< and a tile has the taps of 3 rows and 3 columns
};

/// The lines of one group of outputs: its tiles, then biases, factors and shifts. Of a pool the
/// weights are those with which the array compares.
[[nodiscard]] std::vector<WeightLine> LinesOf(const Layer& layer, const PassShape& shape, int group,
                                              const isa::Parameters& parameters);

}  // namespace tenon::fpga

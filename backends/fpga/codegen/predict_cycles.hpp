// Predicts the cycles that layers take: the one place with the formulas.
//
// What is modelled: a convolution is a list of passes. A pass holds a tile of weights, one for each
// pair of input and output channel of the array, while a block of pixels streams past, some in a
// cycle, and adds to a block of sums; the next tile is shifted in meanwhile. Finished blocks are
// requantised beside the next block (twice with a residual). Weights come in the order of use into
// a ring, as far ahead as it has room, over the same memory port as maps that do not stay on chip.
// The network's own work is multiply-accumulates / those of the array in a cycle; what a layer
// takes beyond that is said by its cause.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/fpga/codegen/layers.hpp"
#include "backends/fpga/codegen/segment_code.hpp"

namespace tenon::fpga {

struct CyclePrediction {
  std::vector<LayerCycles> layers;
  int64_t cycles = 0;  ///< from start to done
};

/// `in_memory`: by map, true if it lies in memory and not on chip.
[[nodiscard]] CyclePrediction PredictCycles(const LayerProgram& program, const CodeTarget& target,
                                            const std::vector<bool>& in_memory);

}  // namespace tenon::fpga

// Seeded random int8 networks that the accelerator takes, with what makes its code hard: 1 and 3
// channels, odd sizes, strides over kernels, large padding.
#pragma once

#include <cstdint>

#include "converter/ir/graph.hpp"

namespace tenon::test {

/// One convolution, depthwise or not.
[[nodiscard]] converter::Graph RandomConv(uint64_t seed);

/// Some ops of every kind that the accelerator has, with branches, sums and lookups.
[[nodiscard]] converter::Graph RandomSegment(uint64_t seed);

}  // namespace tenon::test

// What layers mean, said as plainly as can be: the specification that codegen's tests hold ops and
// descriptors against.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/fpga/codegen/layers.hpp"

namespace tenon::test {

/// The bytes of a map as the accelerator stores them, pixel by pixel, without gaps.
using MapBytes = std::vector<int8_t>;

/// Runs one layer on the maps of its program.
void RunLayer(const fpga::LayerProgram& program, const fpga::Layer& layer,
              std::vector<MapBytes>& maps);

}  // namespace tenon::test

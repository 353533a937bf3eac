// From placed layers to descriptors and the constants that they point to.
#pragma once

#include "backends/fpga/codegen/layers.hpp"
#include "backends/fpga/codegen/outcome.hpp"
#include "backends/fpga/codegen/place_maps.hpp"
#include "backends/fpga/codegen/segment_code.hpp"
#include "backends/fpga/codegen/segment_source.hpp"
#include "backends/fpga/isa/descriptor.hpp"
#include "backends/fpga/isa/parameters.hpp"

namespace tenon::fpga {

/// What the accelerator calls the target.
[[nodiscard]] isa::Parameters ParametersOf(const CodeTarget& target);

struct EncodedLayers {
  std::vector<isa::Descriptor> descriptors;
  std::vector<uint8_t> constants;
  std::vector<SegmentCode::Relocation> relocations;
};

/// Maps that others read are loaded by the first layer that reads them, or before it; those that
/// others want are stored by the layer that writes them, or after it. Refuses maps that do not lie
/// in memory pixel by pixel, and more of them than there are base registers.
[[nodiscard]] Outcome<EncodedLayers> EncodeLayers(const SegmentSource& source,
                                                  const LayerProgram& program,
                                                  const MapPlaces& places,
                                                  const isa::Parameters& parameters);

}  // namespace tenon::fpga

// From a segment's ops to the accelerator's layers: what becomes part of which layer.
#pragma once

#include "backends/fpga/codegen/layers.hpp"
#include "backends/fpga/codegen/outcome.hpp"
#include "backends/fpga/codegen/segment_source.hpp"

namespace tenon::fpga {

/// Lookups and sums become part of the layer before them where nothing else reads what that gives;
/// where there is none, a layer that changes nothing carries them. Refuses ops, by index, that the
/// accelerator cannot run beside the others of the segment: windows on maps that do not begin at a
/// group of channels, sums without tables.
[[nodiscard]] Outcome<LayerProgram> LowerSegment(const SegmentSource& source);

}  // namespace tenon::fpga

// A batch on the accelerator, which has one image at a time: the segment's layers for the first
// image, then for the next, with the same weights.
#pragma once

#include "backends/fpga/codegen/layers.hpp"
#include "backends/fpga/codegen/segment_source.hpp"

namespace tenon::fpga {

/// The images that all blocks of a segment have, by their first dimension; 1 where no block is a
/// batch of feature maps; 0 if blocks differ.
[[nodiscard]] int ImagesOf(const SegmentSource& source);

/// The segment for one image: the first dimension of every block and its tensors is 1.
[[nodiscard]] SegmentSource OneImageOf(const SegmentSource& source);

/// The program of one image for so many, which lie in memory one after the other.
[[nodiscard]] LayerProgram ForImages(const LayerProgram& program, int images);

}  // namespace tenon::fpga

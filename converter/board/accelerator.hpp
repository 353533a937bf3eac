// What a board says of an accelerator whose segments are code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::converter {

class ObjectReader;

/// The configuration of the accelerator that the device's image holds (docs/boards.md).
struct Accelerator {
  std::string name;              ///< what it says of itself: a plan is for this one
  int32_t input_channels = 32;   ///< of the array; multiplied with as many output channels
  int32_t output_channels = 32;  ///< at once, for
  int32_t pixels = 2;            ///< neighbouring results
  int32_t lanes = 32;            ///< results that are requantised per cycle
  int32_t accumulator_pixels = 512;
  int64_t map_bytes = 0;     ///< on-chip memory of feature maps
  int64_t weight_bytes = 0;  ///< on-chip memory of weights
  double clock_hz = 0;
  /// The uuid of the device's image (xclbin) in 4 words, as XRT has its bytes in memory; empty:
  /// code runs on any image of this configuration.
  std::vector<uint32_t> image;

  [[nodiscard]] int64_t MultiplyAccumulates() const {  ///< per cycle
    return int64_t{input_channels} * output_channels * pixels;
  }
};

void ReadAccelerator(ObjectReader& reader, Accelerator& accelerator);

}  // namespace tenon::converter

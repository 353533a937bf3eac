#include "converter/board/accelerator.hpp"

namespace tenon::converter {

void ReadAccelerator(ObjectReader& reader, Accelerator& accelerator) {
  reader.Required("name", accelerator.name);
  reader.Required("input_channels", accelerator.input_channels);
  reader.Required("output_channels", accelerator.output_channels);
  reader.Required("pixels", accelerator.pixels);
  reader.Required("lanes", accelerator.lanes);
  reader.Required("accumulator_pixels", accelerator.accumulator_pixels);
  reader.Required("map_bytes", accelerator.map_bytes);
  reader.Required("weight_bytes", accelerator.weight_bytes);
  reader.Required("clock_hz", accelerator.clock_hz);
  reader.FailIf(accelerator.name.empty(), "has an empty 'name'");
  const auto is_size = [](int64_t value) { return value >= 1 && value <= 1 << 30; };
  reader.FailIf(!is_size(accelerator.input_channels) || !is_size(accelerator.output_channels) ||
                    !is_size(accelerator.pixels) || !is_size(accelerator.lanes) ||
                    !is_size(accelerator.accumulator_pixels) || !is_size(accelerator.map_bytes) ||
                    !is_size(accelerator.weight_bytes),
                "has a size below 1 or above 2^30");
  reader.FailIf(!(accelerator.clock_hz > 0), "has a 'clock_hz' of 0 or less");
}

}  // namespace tenon::converter

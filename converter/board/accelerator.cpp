#include "converter/board/accelerator.hpp"

#include <array>
#include <charconv>
#include <cstring>

#include "converter/board/object_reader.hpp"

namespace tenon::converter {
namespace {

/// Returns the words of a uuid: 32 hexadecimal digits, with hyphens or without; none if it is
/// something else.
std::vector<uint32_t> UuidWords(std::string text) {
  std::erase(text, '-');
  std::array<uint8_t, 16> bytes{};
  if (text.size() != 2 * bytes.size()) return {};
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char* digits = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(digits, digits + 2, bytes[i], 16);
    if (error != std::errc() || end != digits + 2) return {};
  }
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

}  // namespace

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
  std::string uuid;
  reader.Optional("image_uuid", uuid);
  if (!uuid.empty()) accelerator.image = UuidWords(uuid);
  reader.FailIf(!uuid.empty() && accelerator.image.empty(),
                "has an 'image_uuid' that is not 32 hexadecimal digits");
}

}  // namespace tenon::converter

#include "sdk/tools/quantized_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tenon::tool {

bool IsQuantized(const tenon_port_info& port) {
  return port.scale > 0.0F && (port.dtype == TENON_I8 || port.dtype == TENON_U8);
}

std::string DescribeQuantization(const tenon_port_info& port) {
  if (!IsQuantized(port)) return "";
  return fmt::format(" (scale {:g}, zero point {})", port.scale, port.zero_point);
}

double RealValue(const tenon_port_info& port, double value) {
  return IsQuantized(port) ? (value - port.zero_point) * double{port.scale} : value;
}

NpyArray QuantizeFor(const tenon_port_info& port, const NpyArray& floats) {
  const double least = port.dtype == TENON_I8 ? -128.0 : 0.0;
  NpyArray quantized{port.dtype, floats.shape, {}};
  const Elements values(floats);
  quantized.bytes.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    const double steps = std::isnan(value) ? 0.0 : std::nearbyint(value / double{port.scale});
    const double q = std::clamp(steps + port.zero_point, least, least + 255.0);
    quantized.bytes.push_back(static_cast<std::byte>(static_cast<int>(q) & 0xFF));
  }
  return quantized;
}

}  // namespace tenon::tool

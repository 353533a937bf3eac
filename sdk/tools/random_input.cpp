#include "sdk/tools/random_input.hpp"

#include <cstring>
#include <random>

namespace tenon::tool {

std::vector<std::byte> RandomInput(const tenon_port_info& port) {
  std::mt19937 random(1);
  std::vector<std::byte> bytes(port.bytes);
  if (port.dtype == TENON_F32) {
    std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
    for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      const float value = uniform(random);
      std::memcpy(bytes.data() + i, &value, 4);
    }
  } else if (port.dtype == TENON_I8 || port.dtype == TENON_U8) {
    for (std::byte& value : bytes) value = static_cast<std::byte>(random() & 127U);
  }
  return bytes;
}

}  // namespace tenon::tool

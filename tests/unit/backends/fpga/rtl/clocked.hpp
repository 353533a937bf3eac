// What tests of Verilated blocks share.
#pragma once

#include <cstdint>
#include <random>

namespace tenon::fpga {

/// One rising edge; inputs are set before, outputs can be read after.
template <typename Model>
void Clock(Model& model) {
  model.clk = 0;
  model.eval();
  model.clk = 1;
  model.eval();
}

/// Random numbers of which many are as large or as small as can be.
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : random_(seed) {}

  [[nodiscard]] uint64_t Bits(int bits) {
    return bits >= 64 ? random_() : random_() & ((uint64_t{1} << bits) - 1);
  }
  [[nodiscard]] int Below(int bound) {
    return static_cast<int>(random_() % static_cast<uint64_t>(bound));
  }
  /// A signed number of `bits`: one time in four its least, its most, 0 or -1.
  [[nodiscard]] int64_t Signed(int bits) {
    const int64_t most = (int64_t{1} << (bits - 1)) - 1;
    switch (Below(16)) {
      case 0:
        return most;
      case 1:
        return -most - 1;
      case 2:
        return 0;
      case 3:
        return -1;
      default:
        return static_cast<int64_t>(Bits(bits)) - most - 1;
    }
  }

 private:
  std::mt19937_64 random_;
};

/// Element i of a port of elements of `bits` bits. Verilator keeps ports of all widths as 32-bit
/// words one after another, which on little-endian machines are bytes one after another.
template <typename Port>
void SetElement(Port& port, int i, int bits, uint64_t value) {
  auto* bytes = reinterpret_cast<uint8_t*>(&port);
  for (int b = 0; b < bits; ++b) {
    const int at = i * bits + b;
    uint8_t& byte = bytes[at / 8];
    const auto mask = static_cast<uint8_t>(1U << (at % 8));
    byte = static_cast<uint8_t>((value >> b & 1) != 0 ? byte | mask : byte & ~mask);
  }
}

template <typename Port>
[[nodiscard]] int64_t SignedElement(const Port& port, int i, int bits) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&port);
  uint64_t value = 0;
  for (int b = 0; b < bits; ++b) {
    const int at = i * bits + b;
    value |= (uint64_t{bytes[at / 8]} >> (at % 8) & 1) << b;
  }
  const uint64_t sign = uint64_t{1} << (bits - 1);
  return static_cast<int64_t>((value ^ sign) - sign);
}

}  // namespace tenon::fpga

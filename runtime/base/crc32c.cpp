#include "runtime/base/crc32c.hpp"

namespace tenon {
namespace {

struct Table {
  uint32_t values[16];
};

// Half-byte table: 64 bytes of flash instead of 1 KB, and still two look-ups a byte.
constexpr Table MakeTable() {
  Table table{};
  for (uint32_t i = 0; i < 16; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 4; ++bit) value = (value >> 1) ^ ((value & 1U) != 0 ? 0x82F63B78U : 0U);
    table.values[i] = value;
  }
  return table;
}
constexpr Table kTable = MakeTable();

}  // namespace

uint32_t Crc32c(const void* data, size_t size, uint32_t crc) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  crc = ~crc;
  for (size_t i = 0; i < size; ++i) {
    crc ^= bytes[i];
    crc = (crc >> 4) ^ kTable.values[crc & 15U];
    crc = (crc >> 4) ^ kTable.values[crc & 15U];
  }
  return ~crc;
}

}  // namespace tenon

#include "runtime/base/crc32c.hpp"

#include <cstring>

#if defined(__ARM_FEATURE_CRC32) && defined(__aarch64__)
#include <arm_acle.h>
#endif

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

uint32_t SumBytes(const uint8_t* bytes, size_t size, uint32_t crc) {
  for (size_t i = 0; i < size; ++i) {
    crc ^= bytes[i];
    crc = (crc >> 4) ^ kTable.values[crc & 15U];
    crc = (crc >> 4) ^ kTable.values[crc & 15U];
  }
  return crc;
}

// Where the processor has the instruction, 8 bytes at a time: opening a plan with 100 MB of
// constants would take a third of a second with the table.
#if defined(__x86_64__)
#define TENON_CRC_TARGET __attribute__((target("sse4.2")))

TENON_CRC_TARGET inline uint64_t SumWord(uint64_t sum, uint64_t word) {
  return __builtin_ia32_crc32di(sum, word);
}
bool HasCrcInstruction() { return __builtin_cpu_supports("sse4.2") != 0; }

#elif defined(__ARM_FEATURE_CRC32) && defined(__aarch64__)
#define TENON_CRC_TARGET

inline uint64_t SumWord(uint64_t sum, uint64_t word) {
  return __crc32cd(static_cast<uint32_t>(sum), word);
}
constexpr bool HasCrcInstruction() { return true; }

#endif

#if defined(TENON_CRC_TARGET)

uint64_t WordAt(const uint8_t* bytes, size_t index) {
  uint64_t word;
  std::memcpy(&word, bytes + 8 * index, sizeof word);
  return word;
}

#if defined(__OPTIMIZE_SIZE__)

/// Builds for size sum one word after the other.
constexpr uint64_t SumLanes(const uint8_t*& /*bytes*/, size_t& /*words*/, uint64_t sum) {
  return sum;
}

#else

constexpr size_t kLaneBytes = 2048;
constexpr size_t kLaneWords = kLaneBytes / 8;

/// Contains what kLaneBytes zeros behind a message make of its sum: that is linear, so that there
/// is a value for each of the sum's 8 digits (of 4 bits), which are added up.
struct ZerosBehind {
  uint32_t values[8][16];
};

constexpr ZerosBehind MakeZerosBehind() {
  uint32_t of_bit[32] = {};
  for (uint32_t bit = 0; bit < 32; ++bit) {
    uint32_t sum = 1U << bit;
    for (size_t i = 0; i < 2 * kLaneBytes; ++i) sum = (sum >> 4) ^ kTable.values[sum & 15U];
    of_bit[bit] = sum;
  }
  ZerosBehind zeros{};
  for (uint32_t digit = 0; digit < 8; ++digit) {
    for (uint32_t value = 0; value < 16; ++value) {
      for (uint32_t bit = 0; bit < 4; ++bit) {
        if ((value >> bit & 1U) != 0) zeros.values[digit][value] ^= of_bit[4 * digit + bit];
      }
    }
  }
  return zeros;
}
constexpr ZerosBehind kZerosBehind = MakeZerosBehind();

/// Returns the sum of the message with kLaneBytes zeros behind it.
uint64_t WithZerosBehind(uint64_t sum) {
  uint32_t result = 0;
  for (const auto& of_digit : kZerosBehind.values) {
    result ^= of_digit[sum & 15U];
    sum >>= 4;
  }
  return result;
}

/// Sums words from the first on, and leaves those that are too few. An instruction waits for the
/// one before it, and three of them run at once: so three lanes are summed side by side (V. Gopal
/// and others, "Fast CRC computation for iSCSI polynomial using CRC32 instruction", 2011).
TENON_CRC_TARGET uint64_t SumLanes(const uint8_t*& bytes, size_t& words, uint64_t sum) {
  for (; words >= 3 * kLaneWords; words -= 3 * kLaneWords, bytes += 3 * kLaneBytes) {
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t i = 0; i < kLaneWords; ++i) {
      sum = SumWord(sum, WordAt(bytes, i));
      second = SumWord(second, WordAt(bytes, kLaneWords + i));
      third = SumWord(third, WordAt(bytes, 2 * kLaneWords + i));
    }
    sum = WithZerosBehind(WithZerosBehind(sum) ^ second) ^ third;
  }
  return sum;
}

#endif

TENON_CRC_TARGET uint32_t SumWords(const uint8_t* bytes, size_t words, uint32_t crc) {
  uint64_t sum = SumLanes(bytes, words, crc);
  for (size_t i = 0; i < words; ++i) sum = SumWord(sum, WordAt(bytes, i));
  return static_cast<uint32_t>(sum);
}

#else

constexpr uint32_t SumWords(const uint8_t* /*bytes*/, size_t /*words*/, uint32_t crc) {
  return crc;
}
constexpr bool HasCrcInstruction() { return false; }

#endif

}  // namespace

uint32_t Crc32c(const void* data, size_t size, uint32_t crc) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  crc = ~crc;
  size_t done = 0;
  if (HasCrcInstruction()) {
    done = size / 8 * 8;
    crc = SumWords(bytes, size / 8, crc);
  }
  return ~SumBytes(bytes + done, size - done, crc);
}

}  // namespace tenon

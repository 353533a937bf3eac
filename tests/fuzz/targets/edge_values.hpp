// Numbers and words that changes put into models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t bytes, size_t most);

namespace tenon::fuzz {

/// Values that sit on edges: where an importer counts, multiplies, wraps or compares.
inline int64_t EdgeNumber(std::mt19937& random, int64_t now) {
  constexpr int64_t kValues[] = {0,   1,     2,       3,          4,         5,         7,
                                 8,   16,    -1,      -2,         -3,        63,        255,
                                 256, 65536, 1 << 24, 0x7FFFFFFF, INT32_MIN, INT64_MAX, INT64_MIN};
  switch (random() % 4) {
    case 0:
      return static_cast<int64_t>(static_cast<uint64_t>(now) + random() % 9 - 4);
    case 1:
      return static_cast<int64_t>(random() % 20);
    default:
      return kValues[random() % std::size(kValues)];
  }
}

inline double EdgeFloat(std::mt19937& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kValues[] = {0.0,
                                -0.0,
                                1.0,
                                -1.0,
                                0.5,
                                2.0,
                                1e-38,
                                1e-45,
                                1e38,
                                65504.0,
                                kInfinity,
                                -kInfinity,
                                std::numeric_limits<double>::quiet_NaN()};
  return kValues[random() % std::size(kValues)];
}

/// Words of arrays: bytes changed as libFuzzer changes them, or a word that is an edge.
inline void ChangeBytes(std::string& bytes, std::mt19937& random) {
  constexpr uint32_t kWords[] = {0,          1,          2,          3,          0xFFFFFFFF,
                                 0x7FFFFFFF, 0x80000000, 0x7F800000, 0x7FC00000, 0x3F800000};
  if (bytes.size() >= 4 && random() % 2 == 0) {
    const size_t at = random() % (bytes.size() / 4) * 4;
    std::memcpy(&bytes[at], &kWords[random() % std::size(kWords)], 4);
    return;
  }
  std::vector<uint8_t> changed(bytes.begin(), bytes.end());
  changed.resize(bytes.size() + 16);
  const size_t size = LLVMFuzzerMutate(changed.data(), bytes.size(), changed.size());
  bytes.assign(changed.begin(), changed.begin() + static_cast<ptrdiff_t>(size));
}

}  // namespace tenon::fuzz

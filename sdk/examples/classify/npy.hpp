// Reads the .npy files that the example needs: little-endian, C order, f32 or i64.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

/// Reads the numbers of FILE, which NumPy saved with element type `descr` ("<f4", say). None if it
/// cannot be read or holds something else.
template <typename T>
std::optional<std::vector<T>> ReadNpy(const std::string& file, const std::string& descr) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  // Version 1.0: magic (6 bytes), version (2), header length (2, little-endian), header, numbers.
  if (bytes.size() < 10 || bytes.compare(0, 8, "\x93NUMPY\x01\x00", 8) != 0) return std::nullopt;
  const size_t header = static_cast<unsigned char>(bytes[8]) +
                        256 * static_cast<size_t>(static_cast<unsigned char>(bytes[9]));
  if (bytes.size() < 10 + header) return std::nullopt;
  const std::string text = bytes.substr(10, header);
  if (text.find("'" + descr + "'") == std::string::npos ||
      text.find("'fortran_order': False") == std::string::npos) {
    return std::nullopt;
  }
  std::vector<T> values((bytes.size() - 10 - header) / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), &bytes[10 + header], values.size() * sizeof(T));
  return values;
}

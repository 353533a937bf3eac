// What TargetRunner and plan_server say to each other: numbers of 64 bits, little-endian, and
// blocks of bytes, each a number that says how many and then those.
//
// Request: portable, threads, bound; the plan; the number of inputs and each of them.
// Answer: the error, empty for none; the number of outputs and each of them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

namespace tenon::test {

/// Larger ones come from a peer that does not speak this.
inline constexpr uint64_t kMostMessageBytes = uint64_t{1} << 30;

inline bool WriteNumber(std::FILE* file, uint64_t value) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
  return std::fwrite(bytes, 1, sizeof bytes, file) == sizeof bytes;
}

inline bool ReadNumber(std::FILE* file, uint64_t& value) {
  unsigned char bytes[8];
  if (std::fread(bytes, 1, sizeof bytes, file) != sizeof bytes) return false;
  value = 0;
  for (int i = 0; i < 8; ++i) value |= uint64_t{bytes[i]} << (8 * i);
  return true;
}

template <typename Byte>
bool WriteBlock(std::FILE* file, const std::vector<Byte>& bytes) {
  static_assert(sizeof(Byte) == 1);
  return WriteNumber(file, bytes.size()) &&
         std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
}

template <typename Byte>
bool ReadBlock(std::FILE* file, std::vector<Byte>& bytes) {
  static_assert(sizeof(Byte) == 1);
  uint64_t size = 0;
  if (!ReadNumber(file, size) || size > kMostMessageBytes) return false;
  bytes.resize(static_cast<size_t>(size));
  return std::fread(bytes.data(), 1, bytes.size(), file) == bytes.size();
}

inline bool WriteBlocks(std::FILE* file, const std::vector<std::vector<std::byte>>& blocks) {
  if (!WriteNumber(file, blocks.size())) return false;
  for (const std::vector<std::byte>& block : blocks) {
    if (!WriteBlock(file, block)) return false;
  }
  return true;
}

inline bool ReadBlocks(std::FILE* file, std::vector<std::vector<std::byte>>& blocks) {
  uint64_t count = 0;
  if (!ReadNumber(file, count) || count > 4096) return false;
  blocks.resize(static_cast<size_t>(count));
  for (std::vector<std::byte>& block : blocks) {
    if (!ReadBlock(file, block)) return false;
  }
  return true;
}

}  // namespace tenon::test

// SipHash-2-4 with 128 bits of result (Aumasson and Bernstein, "SipHash: a fast short-input PRF",
// 2012, and its reference implementation): a digest that nobody can make without the key.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::opencl {

inline constexpr size_t kSipBytes = 16;

struct SipKey {
  uint8_t bytes[kSipBytes];
};

/// Is a digest in the making: of everything that has been added, in order, wherever it was cut.
class SipHash {
 public:
  explicit SipHash(const SipKey& key);
  void Add(const void* data, size_t bytes);
  /// Writes the digest. Once per object.
  void Finish(uint8_t (&digest)[kSipBytes]);

 private:
  void Round();
  void Compress(uint64_t word);

  uint64_t v_[4];
  uint64_t word_ = 0;   ///< bytes that fill no word yet, the first lowest
  uint64_t bytes_ = 0;  ///< added so far
};

}  // namespace tenon::opencl

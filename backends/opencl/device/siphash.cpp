#include "backends/opencl/device/siphash.hpp"

namespace tenon::opencl {
namespace {

uint64_t RotateLeft(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

/// Little-endian, on every machine.
uint64_t ReadWord(const uint8_t* bytes) {
  uint64_t word = 0;
  for (int i = 0; i < 8; ++i) word |= uint64_t{bytes[i]} << (8 * i);
  return word;
}

void WriteWord(uint64_t word, uint8_t* bytes) {
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(word >> (8 * i));
}

}  // namespace

SipHash::SipHash(const SipKey& key) {
  const uint64_t k0 = ReadWord(key.bytes);
  const uint64_t k1 = ReadWord(key.bytes + 8);
  v_[0] = k0 ^ 0x736f6d6570736575;
  v_[1] = k1 ^ 0x646f72616e646f6d ^ 0xee;  // 0xee: the result has 128 bits
  v_[2] = k0 ^ 0x6c7967656e657261;
  v_[3] = k1 ^ 0x7465646279746573;
}

void SipHash::Round() {
  v_[0] += v_[1];
  v_[1] = RotateLeft(v_[1], 13) ^ v_[0];
  v_[0] = RotateLeft(v_[0], 32);
  v_[2] += v_[3];
  v_[3] = RotateLeft(v_[3], 16) ^ v_[2];
  v_[0] += v_[3];
  v_[3] = RotateLeft(v_[3], 21) ^ v_[0];
  v_[2] += v_[1];
  v_[1] = RotateLeft(v_[1], 17) ^ v_[2];
  v_[2] = RotateLeft(v_[2], 32);
}

void SipHash::Compress(uint64_t word) {
  v_[3] ^= word;
  for (int i = 0; i < 2; ++i) Round();
  v_[0] ^= word;
}

void SipHash::Add(const void* data, size_t bytes) {
  const auto* at = static_cast<const uint8_t*>(data);
  const uint8_t* const end = at + bytes;
  while (at != end) {
    if (bytes_ % 8 == 0 && end - at >= 8) {
      Compress(ReadWord(at));
      at += 8;
      bytes_ += 8;
      continue;
    }
    word_ |= uint64_t{*at++} << (8 * (bytes_ % 8));
    if (++bytes_ % 8 != 0) continue;
    Compress(word_);
    word_ = 0;
  }
}

void SipHash::Finish(uint8_t (&digest)[kSipBytes]) {
  Compress(word_ | bytes_ << 56);
  v_[2] ^= 0xee;
  for (int i = 0; i < 4; ++i) Round();
  WriteWord(v_[0] ^ v_[1] ^ v_[2] ^ v_[3], digest);
  v_[1] ^= 0xdd;
  for (int i = 0; i < 4; ++i) Round();
  WriteWord(v_[0] ^ v_[1] ^ v_[2] ^ v_[3], digest + 8);
}

}  // namespace tenon::opencl

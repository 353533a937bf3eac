#include "converter/solve/place/place_reach.hpp"

#include <algorithm>
#include <bit>

namespace tenon::converter {

ReachableHeights::ReachableHeights(int64_t heights, int64_t slack)
    : words_(static_cast<size_t>(heights - 1) / 64 + 1) {
  const size_t whole = std::min(words_, static_cast<size_t>(slack) / 64);
  std::fill(bits_, bits_ + whole, ~uint64_t{0});
  std::fill(bits_ + whole, bits_ + words_, uint64_t{0});
  if (whole < words_) bits_[whole] = ~uint64_t{0} >> (63 - static_cast<size_t>(slack) % 64);
}

void ReachableHeights::Add(int64_t lowest, int64_t size) {
  const size_t from = static_cast<size_t>(lowest) / 64;
  const size_t words = static_cast<size_t>(size) / 64;
  const size_t shift = static_cast<size_t>(size) % 64;
  const size_t to = from + words;
  if (to >= words_) return;
  const uint64_t first = bits_[from] & (~uint64_t{0} << (static_cast<size_t>(lowest) % 64));
  // Runs from the top down, so that every word is read before it changes.
  if (shift == 0) {
    for (size_t w = words_ - 1; w > to; --w) bits_[w] |= bits_[w - words];
    bits_[to] |= first;
    return;
  }
  for (size_t w = words_ - 1; w > to + 1; --w) {
    bits_[w] |= bits_[w - words] << shift | bits_[w - words - 1] >> (64 - shift);
  }
  if (to + 1 < words_) bits_[to + 1] |= bits_[from + 1] << shift | first >> (64 - shift);
  bits_[to] |= first << shift;
}

int64_t ReachableHeights::Next(int64_t height) const {
  size_t word = static_cast<size_t>(height) / 64;
  uint64_t bits = bits_[word] & (~uint64_t{0} << (static_cast<size_t>(height) % 64));
  while (bits == 0 && ++word < words_) bits = bits_[word];
  return static_cast<int64_t>(word * 64) + (bits == 0 ? 0 : std::countr_zero(bits));
}

}  // namespace tenon::converter

#include "converter/solve/place/place_nogoods.hpp"

#include <algorithm>

namespace tenon::converter {
namespace {

constexpr size_t kWays = 8;
constexpr size_t kSets = size_t{1} << 14;

size_t SetOf(uint64_t hash) { return static_cast<size_t>(hash >> 20) & (kSets - 1); }

bool AllAtMost(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](uint32_t x, uint32_t y) { return x <= y; });
}

}  // namespace

NogoodCache::NogoodCache() : entries_(kSets * kWays), next_victim_(kSets, 0) {}

void NogoodCache::Clear() {
  for (Entry& entry : entries_) entry.min_offsets.clear();
}

bool NogoodCache::Covers(uint64_t buffers_hash, const std::vector<uint32_t>& min_offsets) const {
  const Entry* set = &entries_[SetOf(buffers_hash) * kWays];
  for (size_t way = 0; way < kWays; ++way) {
    if (set[way].buffers_hash == buffers_hash && AllAtMost(set[way].min_offsets, min_offsets)) {
      return true;
    }
  }
  return false;
}

void NogoodCache::Add(uint64_t buffers_hash, const std::vector<uint32_t>& min_offsets) {
  const size_t set = SetOf(buffers_hash);
  size_t way = next_victim_[set];
  for (size_t i = 0; i < kWays; ++i) {
    const Entry& entry = entries_[set * kWays + i];
    // A state that the new one covers is no longer needed.
    if (entry.buffers_hash == buffers_hash && AllAtMost(min_offsets, entry.min_offsets)) way = i;
  }
  if (way == next_victim_[set]) next_victim_[set] = static_cast<uint8_t>((way + 1) % kWays);
  Entry& entry = entries_[set * kWays + way];
  entry.buffers_hash = buffers_hash;
  entry.min_offsets = min_offsets;
}

}  // namespace tenon::converter

#include "converter/solve/place/place_nogoods.hpp"

#include <algorithm>
#include <iterator>

namespace tenon::converter {
namespace {

constexpr size_t kSets = size_t{1} << 14;

size_t SetOf(uint64_t hash) { return static_cast<size_t>(hash >> 20) & (kSets - 1); }

bool AllAtMost(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](uint32_t x, uint32_t y) { return x <= y; });
}

}  // namespace

NogoodCache::NogoodCache() : pages_(kSets / kSetsPerPage) {}

void NogoodCache::Clear() {
  for (const std::unique_ptr<Page>& page : pages_) {
    if (!page) continue;
    for (Set& set : *page) {
      for (Entry& entry : set.entries) entry.min_offsets.clear();
    }
  }
}

bool NogoodCache::Covers(uint64_t buffers_hash, const std::vector<uint32_t>& min_offsets) const {
  const size_t set = SetOf(buffers_hash);
  const std::unique_ptr<Page>& page = pages_[set / kSetsPerPage];
  if (!page) return false;
  const auto& entries = (*page)[set % kSetsPerPage].entries;
  return std::any_of(std::begin(entries), std::end(entries), [&](const Entry& entry) {
    return entry.buffers_hash == buffers_hash && AllAtMost(entry.min_offsets, min_offsets);
  });
}

void NogoodCache::Add(uint64_t buffers_hash, const std::vector<uint32_t>& min_offsets) {
  const size_t index = SetOf(buffers_hash);
  std::unique_ptr<Page>& page = pages_[index / kSetsPerPage];
  if (!page) page = std::make_unique<Page>();
  Set& set = (*page)[index % kSetsPerPage];
  size_t way = set.next_victim;
  for (size_t i = 0; i < kWays; ++i) {
    const Entry& entry = set.entries[i];
    // A state that the new one covers is no longer needed.
    if (entry.buffers_hash == buffers_hash && AllAtMost(min_offsets, entry.min_offsets)) way = i;
  }
  if (way == set.next_victim) set.next_victim = (way + 1) % kWays;
  Entry& entry = set.entries[way];
  entry.buffers_hash = buffers_hash;
  entry.min_offsets = min_offsets;
}

}  // namespace tenon::converter

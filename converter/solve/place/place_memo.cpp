#include "converter/solve/place/place_memo.hpp"

#include <utility>

namespace tenon::converter {
namespace {

// Some 128 MiB of keys; a search of a minute fills a fraction of that.
constexpr size_t kMostNumbers = size_t{1} << 24;

void Add(const std::optional<int64_t>& number, std::vector<int64_t>& key) {
  key.push_back(number ? 1 : 0);
  key.push_back(number.value_or(0));
}

/// Returns numbers that are equal for two calls only if they have the same result.
std::vector<int64_t> KeyOf(const std::vector<Buffer>& buffers, const PlaceOptions& options) {
  constexpr size_t kPerBuffer = 6;
  constexpr size_t kPerCall = 6;
  std::vector<int64_t> key;
  key.reserve(kPerBuffer * buffers.size() + kPerCall);
  Add(options.limit, key);
  Add(options.only_below, key);
  key.push_back(options.work_budget);
  key.push_back(static_cast<int64_t>(options.seed));
  for (const Buffer& buffer : buffers) {
    key.insert(key.end(), {buffer.lower, buffer.upper, buffer.size, buffer.alignment});
    Add(buffer.offset, key);
  }
  return key;
}

}  // namespace

size_t PlacementMemo::Hash::operator()(const Key& key) const {
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a, by words
  for (const int64_t number : key) {
    hash = (hash ^ static_cast<uint64_t>(number)) * 0x100000001B3;
    hash ^= hash >> 32;
  }
  return static_cast<size_t>(hash);
}

Placement PlacementMemo::Place(const std::vector<Buffer>& buffers, const PlaceOptions& options) {
  if (options.time_limit_seconds) return PlaceBuffers(buffers, options);
  Key key = KeyOf(buffers, options);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  Placement placement = PlaceBuffers(buffers, options);
  if (numbers_ + key.size() <= kMostNumbers) {
    numbers_ += key.size();
    known_.emplace(std::move(key), placement);
  }
  return placement;
}

}  // namespace tenon::converter

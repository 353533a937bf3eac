// Remembers states of the placement search that were proved hopeless.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::converter {

/// A bounded, set-associative cache. A state is a set of unplaced buffers (by hash) with a least
/// offset for each: if none of the placements above some least offsets exists, none does above
/// larger ones. Forgets old states when full, so its memory is bounded and nothing is ever wrong.
class NogoodCache {
 public:
  NogoodCache();

  void Clear();

  /// True if a remembered state of the same buffers has no least offset above those given.
  [[nodiscard]] bool Covers(uint64_t buffers_hash, const std::vector<uint32_t>& min_offsets) const;

  void Add(uint64_t buffers_hash, const std::vector<uint32_t>& min_offsets);

 private:
  struct Entry {
    uint64_t buffers_hash = 0;
    std::vector<uint32_t> min_offsets;  // empty: free
  };

  std::vector<Entry> entries_;
  std::vector<uint8_t> next_victim_;  // of each set
};

}  // namespace tenon::converter

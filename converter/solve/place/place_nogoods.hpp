// Remembers states of the placement search that were proved infeasible.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::converter {

/// Implements a bounded, set-associative cache. A state is a set of unplaced buffers (by hash) with
/// a least offset for each: if no placement exists above some least offsets, none exists above
/// larger ones. When full, it forgets old states, so its memory is bounded and its answers stay
/// correct.
class NogoodCache {
 public:
  NogoodCache();

  void Clear();

  /// Returns true if a remembered state of the same buffers has no least offset above those given.
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

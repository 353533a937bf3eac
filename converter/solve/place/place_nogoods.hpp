// Remembers states of the placement search that were proved infeasible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
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
  static constexpr size_t kWays = 8;
  struct Set {
    Entry entries[kWays];
    size_t next_victim = 0;
  };
  static constexpr size_t kSetsPerPage = 8;
  using Page = std::array<Set, kSetsPerPage>;

  std::vector<std::unique_ptr<Page>>
      pages_;  // null: nothing remembered yet. Most searches are short
};

}  // namespace tenon::converter

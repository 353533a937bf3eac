// A set of small integers in a bitmap, with a bitmap over its words, and so on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

/// Set of integers below `capacity`; finding a neighbour takes log32(capacity) steps. The words are
/// the caller's.
class RankSet {
 public:
  /// Words needed for `capacity` integers.
  [[nodiscard]] static size_t Words(size_t capacity);

  RankSet(uint32_t* words, size_t capacity);

  void Insert(size_t value);
  void Remove(size_t value);
  /// Largest member below `value`. There must be one.
  [[nodiscard]] size_t Previous(size_t value) const;

 private:
  static constexpr int kMaxLevels = 7;  // 32^7 > 2^32
  uint32_t* level_[kMaxLevels] = {};
  int levels_ = 0;
};

/// Sorts ascending by `less`, in place, without recursion (heap sort).
void SortKeys(uint64_t* keys, size_t count, bool (*less)(const void*, uint64_t, uint64_t),
              const void* context);

}  // namespace tenon

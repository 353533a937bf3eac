// Numbers downsets 0, 1, 2, ... and stores them as bit sets of equal length in one memory block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tenon::converter {

class DownsetTable {
 public:
  /// Each downset has `words` 64-bit words.
  explicit DownsetTable(size_t words) : words_(words), slots_(size_t{1} << 10, kEmpty) {}

  /// Returns the number of the downset, and true if it is new.
  std::pair<uint32_t, bool> Insert(const uint64_t* set);
  /// The pointer is valid until the next Insert.
  [[nodiscard]] const uint64_t* operator[](uint32_t number) const {
    return sets_.data() + number * words_;
  }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] uint64_t HashOf(const uint64_t* set) const;

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;
  [[nodiscard]] size_t FindSlot(const uint64_t* set) const;
  void Grow();

  size_t words_;
  size_t size_ = 0;
  std::vector<uint64_t> sets_;
  std::vector<uint32_t> slots_;  ///< open addressing, a power of two
};

}  // namespace tenon::converter

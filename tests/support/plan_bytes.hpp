// A plan's bytes in memory that is aligned as the runtime wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tenon::test {

/// As the runtime wants memory; of a 32-bit target's std::max_align_t, 8 is the alignment.
struct alignas(16) AlignedUnit {
  std::byte bytes[16];
};

class PlanBytes {
 public:
  explicit PlanBytes(const std::vector<uint8_t>& bytes)
      : blocks_(bytes.size() / sizeof(AlignedUnit) + 1), size_(bytes.size()) {
    if (!bytes.empty()) std::memcpy(blocks_.data(), bytes.data(), bytes.size());
  }
  [[nodiscard]] const void* data() const { return blocks_.data(); }
  [[nodiscard]] void* data() { return blocks_.data(); }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  std::vector<AlignedUnit> blocks_;
  size_t size_;
};

}  // namespace tenon::test

// The bytes of a file in memory, at an address of a given alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tenon {

/// Has bytes at a multiple of kAlignment: those given, which must outlive it unchanged, or, if they
/// lie elsewhere or there are none, a copy.
template <size_t kAlignment>
class AlignedBytes {
 public:
  explicit AlignedBytes(const std::vector<uint8_t>& given)
      : data_(given.data()), size_(given.size()) {
    const bool is_there =
        !given.empty() && reinterpret_cast<uintptr_t>(given.data()) % kAlignment == 0;
    if (is_there) return;
    copy_.resize(given.size() / kAlignment + 1);
    auto* target = reinterpret_cast<uint8_t*>(copy_.data());
    if (!given.empty()) std::memcpy(target, given.data(), given.size());
    data_ = target;
  }
  AlignedBytes(std::vector<uint8_t>&&) = delete;

  [[nodiscard]] const uint8_t* data() const { return data_; }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  struct alignas(kAlignment) Unit {
    uint8_t bytes[kAlignment];
  };

  std::vector<Unit> copy_;
  const uint8_t* data_;
  size_t size_;
};

}  // namespace tenon

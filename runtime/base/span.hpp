// A view of contiguous elements owned by somebody else (C++17 has no std::span).
#pragma once

#include <cstddef>

namespace tenon {

/// Pointer and length; copies are shallow. Does no bounds checks: callers check what comes from
/// outside before they index.
template <typename T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  template <size_t N>
  constexpr Span(T (&array)[N]) : data_(array), size_(N) {}  // NOLINT: implicit on purpose

  constexpr operator Span<const T>() const { return {data_, size_}; }  // NOLINT: implicit

  [[nodiscard]] constexpr T* data() const { return data_; }
  [[nodiscard]] constexpr size_t size() const { return size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
  [[nodiscard]] constexpr T* begin() const { return data_; }
  [[nodiscard]] constexpr T* end() const { return data_ + size_; }
  [[nodiscard]] constexpr T& operator[](size_t index) const { return data_[index]; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tenon

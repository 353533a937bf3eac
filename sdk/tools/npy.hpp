// NumPy's .npy files (format 1.0 to 3.0): little-endian, C order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::tool {

struct NpyArray {
  tenon_dtype dtype = TENON_F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  [[nodiscard]] std::string Description() const;  ///< "f32[1,3,224,224]"
};

/// What an array is to be: its type and shape.
struct WantedArray {
  tenon_dtype dtype = TENON_F32;
  std::vector<int64_t> shape;
};

/// Reads a file; throws Failure (kInputRefused) with the reason. `wanted` (may be null): for the
/// words about a file that holds no array, how to make one.
[[nodiscard]] NpyArray ReadNpy(const std::filesystem::path& path,
                               const WantedArray* wanted = nullptr);

/// What a .npy file of format 1.0 has before its elements, the same as numpy.save writes.
[[nodiscard]] std::string NpyHead(tenon_dtype dtype, const std::vector<int64_t>& shape);

/// An array's elements as doubles, each when it is asked for: all at once would take up to eight
/// times the array's memory. The bytes must outlive it.
class Elements {
 public:
  Elements(tenon_dtype dtype, const std::vector<std::byte>& bytes);
  explicit Elements(const NpyArray& array) : Elements(array.dtype, array.bytes) {}

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] double operator[](size_t i) const;

 private:
  tenon_dtype dtype_;
  const std::byte* data_;
  size_t size_;
};

/// "f32[1,3,224,224]".
[[nodiscard]] std::string DescribeArray(tenon_dtype dtype, const std::vector<int64_t>& shape);

}  // namespace tenon::tool

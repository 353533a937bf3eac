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

/// The bytes of a .npy file, format 1.0, the same as numpy.save writes.
[[nodiscard]] std::vector<std::byte> NpyFile(tenon_dtype dtype, const std::vector<int64_t>& shape,
                                             const void* data, size_t bytes);

/// The elements as doubles.
[[nodiscard]] std::vector<double> ToDoubles(tenon_dtype dtype, const void* data, size_t bytes);

/// "f32[1,3,224,224]".
[[nodiscard]] std::string DescribeArray(tenon_dtype dtype, const std::vector<int64_t>& shape);

}  // namespace tenon::tool

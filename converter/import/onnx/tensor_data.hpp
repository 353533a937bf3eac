// Constant tensors of an ONNX model as plain bytes, and numbers to and from bytes.
#pragma once

#include <filesystem>
#include <vector>

#include "converter/ir/graph.hpp"

namespace onnx {
class TensorProto;
}

namespace tenon::converter {

struct TensorData {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<std::byte> bytes;  ///< row-major, little-endian
};

/// The DType of an ONNX element type (TensorProto.DataType). Errors: strings, complex numbers and
/// anything newer than those.
[[nodiscard]] Result<DType> DTypeFromOnnx(int element_type);

/// A shape of at most kMaxRank dimensions, each >= 0, with fewer than 2^31 elements.
[[nodiscard]] Result<Shape> ShapeFromDims(const std::vector<int64_t>& dims);

/// Checks dtype, dims and the size of the data, without copying it. Nothing is allocated before
/// the file has been seen to hold as many bytes as the dims ask for.
/// `folder`: where external data files lie; they may not be outside it.
[[nodiscard]] Status CheckTensor(const onnx::TensorProto& tensor,
                                 const std::filesystem::path& folder);

/// The values of a tensor. Reads external data.
[[nodiscard]] Result<TensorData> ReadTensor(const onnx::TensorProto& tensor,
                                            const std::filesystem::path& folder);

/// Elements as f64 (exact for all but 64-bit integers over 2^53).
[[nodiscard]] std::vector<double> ToDoubles(DType dtype, const std::vector<std::byte>& bytes);
/// Elements as i64, for the integer types and bool; floats are truncated and clamped.
[[nodiscard]] std::vector<int64_t> ToInts(DType dtype, const std::vector<std::byte>& bytes);
/// Rounds to nearest (integers: clamps); the inverse of ToDoubles.
[[nodiscard]] std::vector<std::byte> FromDoubles(DType dtype, const std::vector<double>& values);

}  // namespace tenon::converter

// Types and constant tensors of an ONNX model as ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "converter/import/import_graph.hpp"
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

/// Where a tensor's values lie: in the model, or in a file beside it.
struct TensorPlace {
  std::filesystem::path file;  ///< with links followed; empty: in the model
  uint64_t offset = 0;         ///< in the file
  uint64_t bytes = 0;
  DType dtype = DType::kF32;
  Shape shape;

  /// By what is read: bools are read otherwise than other bytes.
  friend bool operator<(const TensorPlace& a, const TensorPlace& b) {
    const bool a_is_bool = a.dtype == DType::kBool;
    const bool b_is_bool = b.dtype == DType::kBool;
    return std::tie(a.file, a.offset, a.bytes, a_is_bool) <
           std::tie(b.file, b.offset, b.bytes, b_is_bool);
  }
};

/// The DType of an ONNX element type (TensorProto.DataType). Errors: strings, complex numbers and
/// anything newer than those.
[[nodiscard]] Result<DType> DTypeFromOnnx(int element_type);
/// The same of its name, "INT32" say.
[[nodiscard]] Result<DType> DTypeFromOnnxName(const std::string& element_type);

/// Checks dtype, dims and the size of the data, without copying it. Nothing is allocated before
/// the file has been seen to hold as many bytes as the dims ask for.
/// `folder`: where external data files lie; they may not be outside it.
[[nodiscard]] Status CheckTensor(const onnx::TensorProto& tensor,
                                 const std::filesystem::path& folder);

/// Says where the values of a tensor lie, after the checks of CheckTensor.
[[nodiscard]] Result<TensorPlace> FindTensor(const onnx::TensorProto& tensor,
                                             const std::filesystem::path& folder);

/// The values of a tensor. Reads external data.
[[nodiscard]] Result<TensorData> ReadTensor(const onnx::TensorProto& tensor,
                                            const std::filesystem::path& folder);

}  // namespace tenon::converter

// Types and constant tensors of an ONNX model as ours.
#pragma once

#include <filesystem>
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

/// The DType of an ONNX element type (TensorProto.DataType). Errors: strings, complex numbers and
/// anything newer than those.
[[nodiscard]] Result<DType> DTypeFromOnnx(int element_type);

/// Checks dtype, dims and the size of the data, without copying it. Nothing is allocated before
/// the file has been seen to hold as many bytes as the dims ask for.
/// `folder`: where external data files lie; they may not be outside it.
[[nodiscard]] Status CheckTensor(const onnx::TensorProto& tensor,
                                 const std::filesystem::path& folder);

/// The values of a tensor. Reads external data.
[[nodiscard]] Result<TensorData> ReadTensor(const onnx::TensorProto& tensor,
                                            const std::filesystem::path& folder);

}  // namespace tenon::converter

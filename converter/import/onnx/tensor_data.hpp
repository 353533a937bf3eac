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
  int32_t packed_bits = 0;       ///< of a number in the model, where a byte holds several; else 0
};

/// Where a tensor's values lie: in the model, or in a file beside it.
struct TensorPlace {
  std::filesystem::path file;  ///< with links followed; empty: in the model
  uint64_t offset = 0;         ///< in the file
  uint64_t bytes = 0;          ///< there
  int32_t packed_bits = 0;     ///< as of TensorData
  DType dtype = DType::kF32;
  Shape shape;

  /// By what is read: bools and packed numbers are read otherwise than other bytes.
  friend bool operator<(const TensorPlace& a, const TensorPlace& b) {
    const bool a_is_bool = a.dtype == DType::kBool;
    const bool b_is_bool = b.dtype == DType::kBool;
    const DType a_packed = a.packed_bits == 0 ? DType::kU8 : a.dtype;
    const DType b_packed = b.packed_bits == 0 ? DType::kU8 : b.dtype;
    const int64_t a_elements = a.packed_bits == 0 ? 0 : a.shape.Elements();
    const int64_t b_elements = b.packed_bits == 0 ? 0 : b.shape.Elements();
    return std::tie(a.file, a.offset, a.bytes, a_is_bool, a.packed_bits, a_packed, a_elements) <
           std::tie(b.file, b.offset, b.bytes, b_is_bool, b.packed_bits, b_packed, b_elements);
  }
};

/// Bits of a number of an ONNX element type of which a byte holds several: INT4, UINT4, INT2 and
/// UINT2, which are i8 and u8 here. 0: of any other type.
[[nodiscard]] int32_t PackedBits(int element_type);

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

/// The values of a tensor, each in bytes of its own. Reads external data.
[[nodiscard]] Result<TensorData> ReadTensor(const onnx::TensorProto& tensor,
                                            const std::filesystem::path& folder);

}  // namespace tenon::converter

#include "tests/conformance/tensor_file.hpp"

#include <onnx/onnx_pb.h>

#include <cstring>
#include <fstream>
#include <set>

namespace tenon::test {
namespace {

std::optional<DType> ToDType(int type) {
  switch (type) {
    case onnx::TensorProto::FLOAT:
      return DType::kF32;
    case onnx::TensorProto::FLOAT16:
      return DType::kF16;
    case onnx::TensorProto::BFLOAT16:
      return DType::kBf16;
    case onnx::TensorProto::DOUBLE:
      return DType::kF64;
    case onnx::TensorProto::INT8:
      return DType::kI8;
    case onnx::TensorProto::UINT8:
      return DType::kU8;
    case onnx::TensorProto::INT16:
      return DType::kI16;
    case onnx::TensorProto::UINT16:
      return DType::kU16;
    case onnx::TensorProto::INT32:
      return DType::kI32;
    case onnx::TensorProto::UINT32:
      return DType::kU32;
    case onnx::TensorProto::INT64:
      return DType::kI64;
    case onnx::TensorProto::UINT64:
      return DType::kU64;
    case onnx::TensorProto::BOOL:
      return DType::kBool;
    default:
      return std::nullopt;
  }
}

template <typename Source>
void PackFrom(const Source& values, size_t element_bytes, std::vector<std::byte>& bytes) {
  bytes.resize(static_cast<size_t>(values.size()) * element_bytes);
  for (int i = 0; i < values.size(); ++i) {
    const auto value = values.Get(i);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * element_bytes, &value, element_bytes);
  }
}

}  // namespace

std::optional<TensorFile> ReadTensorFile(const std::filesystem::path& path) {
  onnx::TensorProto proto;
  std::ifstream file(path, std::ios::binary);
  if (!proto.ParseFromIstream(&file)) return std::nullopt;
  const std::optional<DType> dtype = ToDType(proto.data_type());
  if (!dtype.has_value() || proto.dims_size() > kMaxRank) return std::nullopt;
  TensorFile tensor;
  tensor.name = proto.name();
  tensor.value.dtype = *dtype;
  tensor.value.shape.rank = proto.dims_size();
  for (int i = 0; i < proto.dims_size(); ++i) {
    tensor.value.shape[i] = static_cast<int32_t>(proto.dims(i));
  }
  const auto element = static_cast<size_t>(DTypeBytes(*dtype));
  std::vector<std::byte>& bytes = tensor.value.bytes;
  if (proto.has_raw_data()) {
    bytes.resize(proto.raw_data().size());
    if (!bytes.empty()) std::memcpy(bytes.data(), proto.raw_data().data(), bytes.size());
  } else if (proto.float_data_size() > 0) {
    PackFrom(proto.float_data(), element, bytes);
  } else if (proto.int64_data_size() > 0) {
    PackFrom(proto.int64_data(), element, bytes);
  } else if (proto.double_data_size() > 0) {
    PackFrom(proto.double_data(), element, bytes);
  } else {
    PackFrom(proto.int32_data(), element, bytes);
  }
  if (bytes.size() != static_cast<size_t>(tensor.value.shape.Elements()) * element) {
    return std::nullopt;
  }
  return tensor;
}

std::vector<std::string> ModelInputNames(const std::filesystem::path& path) {
  onnx::ModelProto model;
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> names;
  if (!model.ParseFromIstream(&file)) return names;
  std::set<std::string> initializers;
  for (const auto& initializer : model.graph().initializer()) {
    initializers.insert(initializer.name());
  }
  for (const auto& input : model.graph().input()) {
    if (!initializers.contains(input.name())) names.push_back(input.name());
  }
  return names;
}

}  // namespace tenon::test

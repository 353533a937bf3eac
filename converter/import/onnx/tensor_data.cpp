#include "converter/import/onnx/tensor_data.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>

#include "converter/readable.hpp"

namespace tenon::converter {
namespace {

using onnx::TensorProto;
namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "raw data is copied as it stands");

struct ExternalData {
  fs::path path;
  uint64_t offset = 0;
};

Result<uint64_t> ParseNumber(const std::string& text, const std::string& tensor) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return InputError("initialiser '{}': external data has the bad offset or length '{}'", tensor,
                      text);
  }
  return value;
}

/// The file of external data: relative, and inside the folder even after links are followed.
Result<fs::path> ResolveLocation(const std::string& location, const std::string& tensor,
                                 const fs::path& folder) {
  const fs::path relative(location);
  const bool climbs = std::any_of(relative.begin(), relative.end(),
                                  [](const fs::path& part) { return part == ".."; });
  if (location.empty() || relative.is_absolute() || climbs) {
    return InputError("initialiser '{}': external data '{}' is not inside the model's folder",
                      tensor, location);
  }
  std::error_code error;
  const fs::path root = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  if (error) return InputError("{}: {}", folder.string(), error.message());
  const fs::path file = fs::canonical(root / relative, error);
  if (error || !fs::is_regular_file(file, error)) {
    return InputError("initialiser '{}': external data file '{}' is missing", tensor, location);
  }
  if (std::mismatch(root.begin(), root.end(), file.begin(), file.end()).first != root.end()) {
    return InputError("initialiser '{}': external data '{}' is not inside the model's folder",
                      tensor, location);
  }
  return file;
}

Result<ExternalData> FindExternalData(const TensorProto& tensor, uint64_t bytes,
                                      const fs::path& folder) {
  std::string location;
  ExternalData data;
  std::optional<uint64_t> length;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") {
      TENON_ASSIGN_OR_RETURN(data.offset, ParseNumber(entry.value(), tensor.name()));
    }
    if (entry.key() == "length") {
      TENON_ASSIGN_OR_RETURN(length, ParseNumber(entry.value(), tensor.name()));
    }
  }
  TENON_ASSIGN_OR_RETURN(data.path, ResolveLocation(location, tensor.name(), folder));
  std::error_code error;
  const uintmax_t file_size = fs::file_size(data.path, error);
  if (error) return InputError("{}: {}", data.path.string(), error.message());
  if (data.offset > file_size || bytes > file_size - data.offset ||
      (length.has_value() && *length != bytes)) {
    return InputError(
        "initialiser '{}': wrong data size: {} bytes wanted, external data file '{}' has {} from "
        "offset {} (length {})",
        tensor.name(), bytes, location, data.offset > file_size ? 0 : file_size - data.offset,
        data.offset, length.has_value() ? std::to_string(*length) : "not given");
  }
  return data;
}

/// Number of values in the typed field that ONNX prescribes for the dtype.
int64_t TypedCount(const TensorProto& tensor, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return tensor.float_data_size();
    case DType::kF64:
      return tensor.double_data_size();
    case DType::kI64:
      return tensor.int64_data_size();
    case DType::kU32:
    case DType::kU64:
      return tensor.uint64_data_size();
    default:
      return tensor.int32_data_size();
  }
}

template <typename T, typename Field>
void CopyField(const Field& field, std::vector<std::byte>& bytes) {
  for (int i = 0; i < field.size(); ++i) {
    const T value = static_cast<T>(field.Get(i));
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
}

void CopyTyped(const TensorProto& tensor, DType dtype, std::vector<std::byte>& bytes) {
  switch (dtype) {
    case DType::kF32:
      return CopyField<float>(tensor.float_data(), bytes);
    case DType::kF64:
      return CopyField<double>(tensor.double_data(), bytes);
    case DType::kI64:
      return CopyField<int64_t>(tensor.int64_data(), bytes);
    case DType::kU64:
      return CopyField<uint64_t>(tensor.uint64_data(), bytes);
    case DType::kU32:
      return CopyField<uint32_t>(tensor.uint64_data(), bytes);
    case DType::kI32:
      return CopyField<int32_t>(tensor.int32_data(), bytes);
    case DType::kF16:
    case DType::kBf16:
    case DType::kI16:
    case DType::kU16:
      return CopyField<uint16_t>(tensor.int32_data(), bytes);
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return CopyField<uint8_t>(tensor.int32_data(), bytes);
  }
}

struct TensorType {
  DType dtype;
  Shape shape;
  uint64_t bytes;  ///< as the model holds it
  int32_t packed_bits;
};

constexpr int kUint4 = 21;  // libonnx 1.12 does not know these (onnx.proto, TensorProto.DataType)
constexpr int kInt4 = 22;
constexpr int kUint2 = 25;
constexpr int kInt2 = 26;

/// The type of an initialiser's elements here, those of less than a byte among them.
Result<DType> DTypeOfElements(int element_type) {
  if (PackedBits(element_type) == 0) return DTypeFromOnnx(element_type);
  return element_type == kInt4 || element_type == kInt2 ? DType::kI8 : DType::kU8;
}

Result<TensorType> TypeOf(const TensorProto& tensor) {
  if (tensor.has_segment()) {
    return InputError("initialiser '{}': segmented tensors are not supported", tensor.name());
  }
  auto dtype = DTypeOfElements(tensor.data_type());
  if (!dtype.ok()) return InputError("initialiser '{}': {}", tensor.name(), dtype.error().message);
  auto shape = ShapeFromDims({tensor.dims().begin(), tensor.dims().end()});
  if (!shape.ok()) return InputError("initialiser '{}': {}", tensor.name(), shape.error().message);
  const int32_t bits = PackedBits(tensor.data_type());
  const int64_t elements = shape->Elements();
  const int64_t bytes = bits == 0 ? elements * DTypeBytes(*dtype) : (elements * bits + 7) / 8;
  return TensorType{*dtype, *shape, static_cast<uint64_t>(bytes), bits};
}

std::string ElementTypeName(int element_type) {
  // Those that libonnx 1.12 does not know, from 17 on (onnx.proto, TensorProto.DataType).
  constexpr const char* kNewer[] = {
      "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4",      "INT4",
      "FLOAT4E2M1",   "FLOAT8E8M0",     "UINT2",      "INT2",           "FLOAT6E2M3", "FLOAT6E3M2"};
  constexpr int kFirstNewer = 17;
  if (TensorProto::DataType_IsValid(element_type)) {
    return TensorProto::DataType_Name(element_type);
  }
  const bool is_named = element_type >= kFirstNewer &&
                        element_type < kFirstNewer + static_cast<int>(std::size(kNewer));
  return is_named ? kNewer[element_type - kFirstNewer] : std::to_string(element_type);
}

/// `count` numbers of `bits` each, the first in the lowest ones of a byte, as i8 or u8.
std::vector<std::byte> Unpacked(const std::vector<std::byte>& packed, size_t count, int32_t bits,
                                DType dtype) {
  std::vector<std::byte> unpacked(count);
  const auto per_byte = static_cast<size_t>(8 / bits);
  const auto values = 1U << static_cast<uint32_t>(bits);
  for (size_t i = 0; i < count; ++i) {
    const auto byte = std::to_integer<uint32_t>(packed[i / per_byte]);
    uint32_t value = byte >> (i % per_byte * static_cast<size_t>(bits)) & (values - 1);
    if (dtype == DType::kI8 && value >= values / 2) value -= values;
    unpacked[i] = static_cast<std::byte>(value);
  }
  return unpacked;
}

}  // namespace

int32_t PackedBits(int element_type) {
  if (element_type == kUint4 || element_type == kInt4) return 4;
  return element_type == kUint2 || element_type == kInt2 ? 2 : 0;
}

Result<DType> DTypeFromOnnx(int element_type) {
  switch (element_type) {
    case TensorProto::FLOAT:
      return DType::kF32;
    case TensorProto::FLOAT16:
      return DType::kF16;
    case TensorProto::BFLOAT16:
      return DType::kBf16;
    case TensorProto::DOUBLE:
      return DType::kF64;
    case TensorProto::INT8:
      return DType::kI8;
    case TensorProto::UINT8:
      return DType::kU8;
    case TensorProto::INT16:
      return DType::kI16;
    case TensorProto::UINT16:
      return DType::kU16;
    case TensorProto::INT32:
      return DType::kI32;
    case TensorProto::UINT32:
      return DType::kU32;
    case TensorProto::INT64:
      return DType::kI64;
    case TensorProto::UINT64:
      return DType::kU64;
    case TensorProto::BOOL:
      return DType::kBool;
    default:
      return InputError("element type {} is not supported", ElementTypeName(element_type));
  }
}

Result<DType> DTypeFromOnnxName(const std::string& element_type) {
  TensorProto::DataType type{};
  if (!TensorProto::DataType_Parse(element_type, &type)) {
    return InputError("element type '{}' is not known", element_type);
  }
  return DTypeFromOnnx(type);
}

Status CheckTensor(const TensorProto& tensor, const fs::path& folder) {
  TENON_ASSIGN_OR_RETURN(const TensorType type, TypeOf(tensor));
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    return FindExternalData(tensor, type.bytes, folder).status();
  }
  if (tensor.has_raw_data()) {
    if (tensor.raw_data().size() != type.bytes) {
      return InputError("initialiser '{}': wrong data size: {} bytes, its dims want {}",
                        tensor.name(), tensor.raw_data().size(), type.bytes);
    }
    return {};
  }
  const int64_t wanted =
      type.packed_bits == 0 ? type.shape.Elements() : static_cast<int64_t>(type.bytes);
  if (TypedCount(tensor, type.dtype) != wanted) {
    return InputError("initialiser '{}': wrong data size: {} values, its dims want {}",
                      tensor.name(), TypedCount(tensor, type.dtype), wanted);
  }
  return {};
}

Result<TensorPlace> FindTensor(const TensorProto& tensor, const fs::path& folder) {
  TENON_RETURN_IF_ERROR(CheckTensor(tensor, folder));
  TENON_ASSIGN_OR_RETURN(const TensorType type, TypeOf(tensor));
  TensorPlace place{{}, 0, type.bytes, type.packed_bits, type.dtype, type.shape};
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    TENON_ASSIGN_OR_RETURN(const ExternalData external,
                           FindExternalData(tensor, type.bytes, folder));
    place.file = external.path;
    place.offset = external.offset;
  }
  return place;
}

Result<TensorData> ReadTensor(const TensorProto& tensor, const fs::path& folder) {
  TENON_RETURN_IF_ERROR(CheckTensor(tensor, folder));
  TENON_ASSIGN_OR_RETURN(const TensorType type, TypeOf(tensor));
  TensorData data{type.dtype, type.shape, std::vector<std::byte>(type.bytes), type.packed_bits};
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    TENON_ASSIGN_OR_RETURN(const ExternalData external,
                           FindExternalData(tensor, type.bytes, folder));
    if (const auto reason = WhyUnreadable(external.path)) {
      return InputError("initialiser '{}': {}", tensor.name(), *reason);
    }
    std::ifstream stream(external.path, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(external.offset));
    stream.read(reinterpret_cast<char*>(data.bytes.data()),
                static_cast<std::streamsize>(type.bytes));
    if (!stream) {
      return InputError("initialiser '{}': '{}' cannot be read", tensor.name(),
                        external.path.string());
    }
  } else if (tensor.has_raw_data()) {
    if (type.bytes > 0) std::memcpy(data.bytes.data(), tensor.raw_data().data(), type.bytes);
  } else {
    CopyTyped(tensor, type.dtype, data.bytes);
  }
  if (type.dtype == DType::kBool) {
    for (std::byte& byte : data.bytes) byte = byte == std::byte{0} ? std::byte{0} : std::byte{1};
  }
  if (type.packed_bits != 0) {
    data.bytes = Unpacked(data.bytes, static_cast<size_t>(type.shape.Elements()), type.packed_bits,
                          type.dtype);
  }
  return data;
}

}  // namespace tenon::converter

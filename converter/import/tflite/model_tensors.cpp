#include "converter/import/tflite/model_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/sparse_constants.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

/// Least and greatest zero point of a type that can be quantized; {0, 0} for all others.
std::pair<int64_t, int64_t> ZeroPointRange(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return {-128, 127};
    case DType::kU8:
      return {0, 255};
    case DType::kI16:
      return {-32768, 32767};
    default:
      return {0, 0};
  }
}

}  // namespace

Result<DType> DTypeFromTflite(format::TensorType type) {
  switch (type) {
    case format::TensorType::FLOAT32:
      return DType::kF32;
    case format::TensorType::FLOAT16:
      return DType::kF16;
    case format::TensorType::BFLOAT16:
      return DType::kBf16;
    case format::TensorType::FLOAT64:
      return DType::kF64;
    case format::TensorType::INT8:
      return DType::kI8;
    case format::TensorType::UINT8:
      return DType::kU8;
    case format::TensorType::INT16:
      return DType::kI16;
    case format::TensorType::UINT16:
      return DType::kU16;
    case format::TensorType::INT32:
      return DType::kI32;
    case format::TensorType::UINT32:
      return DType::kU32;
    case format::TensorType::INT64:
      return DType::kI64;
    case format::TensorType::UINT64:
      return DType::kU64;
    case format::TensorType::BOOL:
      return DType::kBool;
    default: {
      const char* name = format::EnumNameTensorType(type);
      return InputError(
          "type {} is not supported",
          *name != '\0' ? std::string(name) : fmt::format("{}", static_cast<int>(type)));
    }
  }
}

Result<Quantization> ReadQuantization(const format::Tensor& tensor, DType dtype,
                                      const Shape& shape) {
  Quantization quantization;
  const format::QuantizationParameters* stored = tensor.quantization();
  if (stored == nullptr || stored->scale() == nullptr || stored->scale()->size() == 0 ||
      IsFloat(dtype) || dtype == DType::kBool) {
    return quantization;
  }
  const size_t count = stored->scale()->size();
  quantization.axis = stored->quantized_dimension();
  if (count > 1) {
    const int32_t axis = quantization.axis;
    if (axis < 0 || axis >= shape.rank || static_cast<size_t>(shape[axis]) != count) {
      return InputError("it has {} scales, which no dimension {} has", count, axis);
    }
  }
  if (dtype == DType::kU16 || dtype == DType::kU32 || dtype == DType::kU64) {
    return InputError("it has a scale, which TFLite gives no {}", DTypeName(dtype));
  }
  quantization.scales.assign(stored->scale()->begin(), stored->scale()->end());
  for (const float scale : quantization.scales) {
    // Some writers note a scale of 0 with tensors that are not quantized.
    if (count == 1 && scale == 0.0F) return Quantization();
    if (!std::isfinite(scale) || scale <= 0.0F) {
      return InputError("its scale {} is not a positive number", scale);
    }
  }
  quantization.zero_points.assign(count, 0);
  if (stored->zero_point() == nullptr || stored->zero_point()->size() == 0) return quantization;
  const size_t zero_points = stored->zero_point()->size();
  if (zero_points != count && zero_points != 1) {
    return InputError("it has {} scales and {} zero points", count, zero_points);
  }
  const auto [least, most] = ZeroPointRange(dtype);
  for (size_t i = 0; i < count; ++i) {
    // The verifier looks at where a vector's length stands, not at the alignment of its elements.
    int64_t value = 0;
    const size_t at = zero_points == 1 ? 0 : i;
    std::memcpy(&value, stored->zero_point()->Data() + at * sizeof value, sizeof value);
    if (value < least || value > most) {
      return InputError("its zero point {} is no value of {}", value, DTypeName(dtype));
    }
    quantization.zero_points[i] = static_cast<int32_t>(value);
  }
  return quantization;
}

Result<Shape> ReadShape(const format::Tensor& tensor) {
  std::vector<int64_t> dims;
  if (tensor.shape() != nullptr) dims.assign(tensor.shape()->begin(), tensor.shape()->end());
  return ShapeFromDims(dims);
}

bool HasData(const format::Model& model, const format::Tensor& tensor) {
  const auto* data = model.buffers()->Get(tensor.buffer())->data();
  return data != nullptr && data->size() > 0;
}

bool IsPackedConstant(const format::Model& model, const format::Tensor& tensor) {
  return tensor.type() == format::TensorType::INT4 && HasData(model, tensor) &&
         tensor.sparsity() == nullptr;
}

namespace {

/// Two numbers of 4 bits in each byte, the lower half first, as one byte each.
std::vector<std::byte> Unpacked(Span<const std::byte> packed, int64_t count) {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int byte = std::to_integer<int>(packed[static_cast<size_t>(i / 2)]);
    const int number = (i % 2 == 0 ? byte : byte >> 4) & 15;
    bytes.push_back(static_cast<std::byte>(number < 8 ? number : number - 16));
  }
  return bytes;
}

}  // namespace

bool HasNoElements(const format::Tensor& tensor) {
  const auto* dims = tensor.shape();
  return dims != nullptr && std::find(dims->begin(), dims->end(), 0) != dims->end();
}

int64_t BytesToRead(const format::Model& model, const format::Tensor& tensor, int64_t wanted) {
  if (tensor.sparsity() != nullptr) return wanted;
  if (IsPackedConstant(model, tensor)) return wanted;
  const auto* data = model.buffers()->Get(tensor.buffer())->data();
  return data == nullptr ? 0 : int64_t{data->size()};
}

Result<std::vector<std::byte>> ReadData(const format::Model& model, const format::Tensor& tensor,
                                        DType dtype, const Shape& shape) {
  const auto* data = model.buffers()->Get(tensor.buffer())->data();
  const int64_t wanted = shape.Elements() * DTypeBytes(dtype);
  const bool is_packed = IsPackedConstant(model, tensor);
  const int64_t stored = is_packed ? (wanted + 1) / 2 : wanted;
  if (wanted == 0 && data == nullptr) return std::vector<std::byte>();
  const auto* bytes = reinterpret_cast<const std::byte*>(data->data());
  std::vector<std::byte> result;
  if (tensor.sparsity() != nullptr) {
    TENON_ASSIGN_OR_RETURN(
        result, Densified(*tensor.sparsity(), shape, DTypeBytes(dtype), {bytes, data->size()}));
  } else if (static_cast<int64_t>(data->size()) != stored) {
    return InputError("it has {} bytes of data, its dims want {}", data->size(), stored);
  } else if (is_packed) {
    result = Unpacked({bytes, data->size()}, wanted);
  } else {
    result.assign(bytes, bytes + data->size());
  }
  if (dtype == DType::kBool) {
    for (std::byte& value : result) value = value == std::byte{0} ? value : std::byte{1};
  }
  return result;
}

namespace {

/// Bytes of the character of UTF-8 that a text begins with; 0 where it begins with none, or with
/// one that does not print.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) < ' ' || byte(0) == 0x7F ? 0 : 1;
  const size_t length = byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) return 0;
  uint32_t code = byte(0) & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  // Not as long as it need be, a control, half of a pair of UTF-16, or beyond the last.
  const uint32_t least = length == 2 ? 0xA0 : length == 3 ? 0x800 : 0x10000;
  return code < least || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF ? 0 : length;
}

}  // namespace

std::string NameOf(const format::Tensor& tensor, int32_t index) {
  constexpr size_t kMostOfName = 1024;
  const std::string name = FullNameOf(tensor, index);
  const size_t end = name.find(';');
  return PrintableName(name.substr(0, end == 0 ? kMostOfName : std::min(end, kMostOfName)));
}

std::string FullNameOf(const format::Tensor& tensor, int32_t index) {
  if (tensor.name() == nullptr || tensor.name()->size() == 0) return fmt::format("tensor{}", index);
  return PrintableName(tensor.name()->str());
}

std::string PrintableName(std::string name) {
  for (size_t i = 0; i < name.size();) {
    const size_t length = CharacterBytes(std::string_view(name).substr(i));
    if (length == 0) name[i] = '_';
    i += std::max<size_t>(length, 1);
  }
  return name;
}

}  // namespace tenon::converter::tflite

#include "sdk/tools/npy.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "sdk/tools/files.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct DTypeCode {
  std::string_view code;
  tenon_dtype dtype;
};
constexpr DTypeCode kCodes[] = {
    {"<f4", TENON_F32}, {"<f2", TENON_F16}, {"<f8", TENON_F64}, {"|i1", TENON_I8},
    {"|u1", TENON_U8},  {"<i2", TENON_I16}, {"<u2", TENON_U16}, {"<i4", TENON_I32},
    {"<u4", TENON_U32}, {"<i8", TENON_I64}, {"<u8", TENON_U64}, {"|b1", TENON_BOOL},
    {"<i1", TENON_I8},  {"<u1", TENON_U8},  {"?", TENON_BOOL},
};

/// The value behind `'key':` in the header's Python dictionary.
std::optional<std::string_view> DictionaryValue(std::string_view header, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "'";
  size_t at = header.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  at = header.find(':', at + quoted.size());
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = header.substr(at + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

std::optional<std::vector<int64_t>> ParseShape(std::string_view text) {
  if (text.empty() || text.front() != '(') return std::nullopt;
  const size_t close = text.find(')');
  if (close == std::string_view::npos) return std::nullopt;
  std::vector<int64_t> shape;
  int64_t value = -1;
  for (const char c : text.substr(1, close)) {
    if (c >= '0' && c <= '9') {
      value = (value < 0 ? 0 : value) * 10 + (c - '0');
      if (value > INT32_MAX) return std::nullopt;
    } else if (c == ',' || c == ')') {
      if (value >= 0) shape.push_back(value);
      value = -1;
    } else if (c != ' ' && c != 'L') {
      return std::nullopt;
    }
  }
  return shape;
}

double HalfToDouble(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  return sign * std::ldexp(mantissa + 1024, exponent - 25);
}

double BrainFloatToDouble(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, 4);
  return static_cast<double>(value);
}

template <typename T>
T Read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

}  // namespace

std::string DescribeArray(tenon_dtype dtype, const std::vector<int64_t>& shape) {
  std::string dims;
  for (const int64_t dim : shape) dims += fmt::format("{}{}", dims.empty() ? "" : ",", dim);
  return fmt::format("{}[{}]", tenon_dtype_name(dtype), dims);
}

std::string NpyArray::Description() const { return DescribeArray(dtype, shape); }

namespace {

/// How Python makes the array that is wanted, or any.
std::string HowToMake(const std::string& name, const WantedArray* wanted) {
  if (wanted == nullptr) return "numpy.save(FILE, array)";
  const std::string name_of_dtype = tenon_dtype_name(wanted->dtype);
  const std::string bits = name_of_dtype.substr(1);
  std::string type = name_of_dtype == "bool" ? "bool" : "float" + bits;
  if (name_of_dtype.front() == 'i') type = "int" + bits;
  if (name_of_dtype.front() == 'u') type = "uint" + bits;
  std::string dims;
  for (const int64_t dim : wanted->shape)
    dims += fmt::format("{}{}", dims.empty() ? "" : ", ", dim);
  if (wanted->shape.size() == 1) dims += ",";
  return fmt::format("numpy.save('{}', numpy.asarray(values, numpy.{}).reshape(({})))", name, type,
                     dims);
}

/// The dictionary of a file's header, and where its data begins.
struct NpyHeader {
  std::string_view text;
  size_t data = 0;
};

NpyHeader HeaderOf(std::string_view text, const std::string& name, const WantedArray* wanted) {
  if (text.size() < 10 || text.substr(0, 6) != kMagic) {
    Fail(kInputRefused, "{}: not a .npy file: make one with {}", name, HowToMake(name, wanted));
  }
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(text[i])); };
  const bool long_header = byte(6) >= 2;
  if (byte(6) < 1 || byte(6) > 3 || (long_header && text.size() < 12)) {
    Fail(kInputRefused, "'{}' has .npy format {}.{}: 1.0 to 3.0 are known", name, byte(6), byte(7));
  }
  const size_t start = long_header ? 12 : 10;
  const size_t length = long_header ? byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24
                                    : byte(8) | byte(9) << 8;
  if (length > text.size() - start) Fail(kInputRefused, "'{}' is cut off in its header", name);
  return {text.substr(start, length), start + length};
}

tenon_dtype DTypeOf(std::string_view code, const std::string& name) {
  for (const DTypeCode& entry : kCodes) {
    if (entry.code == code) return entry.dtype;
  }
  Fail(kInputRefused, "'{}' has elements of type '{}': little-endian numbers and bool are taken",
       name, code);
}

/// An array as the header says, without its elements.
NpyArray ArrayOf(std::string_view header, const std::string& name) {
  const auto descr = DictionaryValue(header, "descr");
  const auto order = DictionaryValue(header, "fortran_order");
  const auto shape_text = DictionaryValue(header, "shape");
  const auto shape = shape_text.has_value() ? ParseShape(*shape_text) : std::nullopt;
  if (!descr.has_value() || descr->size() < 3 || !order.has_value() || !shape.has_value()) {
    Fail(kInputRefused, "'{}' has a malformed .npy header", name);
  }
  if (order->starts_with("True")) {
    Fail(kInputRefused, "'{}' is in Fortran order: save it with numpy.ascontiguousarray", name);
  }
  const std::string_view quoted = descr->substr(1);
  NpyArray array;
  array.shape = *shape;
  array.dtype = DTypeOf(quoted.substr(0, quoted.find_first_of("'\"")), name);
  return array;
}

/// Bytes of the array's elements, or any number above `available`.
size_t BytesOf(const NpyArray& array, size_t available) {
  const bool is_empty = std::find(array.shape.begin(), array.shape.end(), 0) != array.shape.end();
  size_t bytes = is_empty ? 0 : tenon_dtype_bytes(array.dtype);
  for (const int64_t dim : array.shape) {
    if (bytes > available) break;  // before it could overflow: dimensions are below 2^31
    bytes *= static_cast<size_t>(dim);
  }
  return bytes;
}

}  // namespace

NpyArray ReadNpy(const std::filesystem::path& path, const WantedArray* wanted) {
  const std::string name = path.string();
  std::vector<std::byte> content = ReadBytes(path);
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  const NpyHeader header = HeaderOf(text, name, wanted);
  NpyArray array = ArrayOf(header.text, name);
  const size_t available = content.size() - header.data;
  const size_t bytes = BytesOf(array, available);
  if (bytes != available) {
    Fail(kInputRefused, "'{}' says {} but holds {} bytes of data", name, array.Description(),
         available);
  }
  array.bytes = std::move(content);  // a second copy of a large array might not fit
  array.bytes.erase(array.bytes.begin(),
                    array.bytes.begin() + static_cast<std::ptrdiff_t>(header.data));
  return array;
}

std::string NpyHead(tenon_dtype dtype, const std::vector<int64_t>& shape) {
  std::string_view code = "<f4";
  for (const DTypeCode& entry : kCodes) {
    if (entry.dtype == dtype) {
      code = entry.code;
      break;
    }
  }
  std::string dims;
  for (const int64_t dim : shape) dims += fmt::format("{}, ", dim);
  if (shape.size() > 1) dims.resize(dims.size() - 2);
  if (shape.size() == 1) dims.resize(dims.size() - 1);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", code, dims);
  // The data starts at a multiple of 64 (NumPy's own rule).
  header.append(63 - (header.size() + 10) % 64, ' ');
  header.push_back('\n');
  std::string head(kMagic);
  head.push_back(1);
  head.push_back(0);
  head.push_back(static_cast<char>(header.size() & 255));
  head.push_back(static_cast<char>(header.size() >> 8));
  return head + header;
}

Elements::Elements(tenon_dtype dtype, const std::vector<std::byte>& bytes)
    : dtype_(dtype), data_(bytes.data()), size_(bytes.size() / tenon_dtype_bytes(dtype)) {}

double Elements::operator[](size_t i) const {
  const std::byte* const at = data_ + i * tenon_dtype_bytes(dtype_);
  switch (dtype_) {
    case TENON_F32:
      return static_cast<double>(Read<float>(at));
    case TENON_F64:
      return Read<double>(at);
    case TENON_F16:
      return HalfToDouble(Read<uint16_t>(at));
    case TENON_BF16:
      return BrainFloatToDouble(Read<uint16_t>(at));
    case TENON_I8:
      return Read<int8_t>(at);
    case TENON_U8:
    case TENON_BOOL:
      return Read<uint8_t>(at);
    case TENON_I16:
      return Read<int16_t>(at);
    case TENON_U16:
      return Read<uint16_t>(at);
    case TENON_I32:
      return Read<int32_t>(at);
    case TENON_U32:
      return Read<uint32_t>(at);
    case TENON_I64:
      return static_cast<double>(Read<int64_t>(at));
    case TENON_U64:
      return static_cast<double>(Read<uint64_t>(at));
    case TENON_DTYPE_LARGEST_:  // of no array
      break;
  }
  return NAN;
}

}  // namespace tenon::tool

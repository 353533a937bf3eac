// Numbers to and from the bytes of a constant (declared in tensor_data.hpp).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "converter/import/onnx/tensor_data.hpp"

namespace tenon::converter {
namespace {

/// IEEE 754 binary16 as f64, exactly.
double HalfToDouble(uint16_t half) {
  const int exponent = (half >> 10) & 0x1F;
  const int mantissa = half & 0x3FF;
  const double sign = (half & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 0x1F) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(mantissa + 1024, exponent - 25);
}

/// Rounds to nearest, halves to even; too large becomes infinity.
uint16_t DoubleToHalf(double value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7E00);
  if (magnitude >= 65520.0) return static_cast<uint16_t>(sign | 0x7C00);
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = m * 2^exponent, 0.5 <= m < 1
  // Units in the last place: 2^-24 below the normal numbers, else 2^(exponent - 11).
  const int unit = std::max(exponent - 11, -24);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -unit)));
  // A carry out of the mantissa lands in the exponent field, where it belongs.
  const uint32_t bits = steps + (static_cast<uint32_t>(unit + 24) << 10);
  return static_cast<uint16_t>(sign | bits);
}

double Bfloat16ToDouble(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value = 0.0F;
  std::memcpy(&value, &wide, sizeof value);
  return static_cast<double>(value);
}

uint16_t DoubleToBfloat16(double value) {
  const auto narrow = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof bits);
  if (std::isnan(narrow)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  bits += 0x7FFF + ((bits >> 16) & 1);
  return static_cast<uint16_t>(bits >> 16);
}

template <typename To>
To ClampTo(double value) {
  if (std::isnan(value)) return 0;
  constexpr auto kLow = static_cast<double>(std::numeric_limits<To>::min());
  constexpr auto kHigh = static_cast<double>(std::numeric_limits<To>::max());
  if (value <= kLow) return std::numeric_limits<To>::min();
  if (value >= kHigh) return std::numeric_limits<To>::max();
  return static_cast<To>(std::nearbyint(value));
}

template <typename T, typename Out, typename Convert>
std::vector<Out> Read(const std::vector<std::byte>& bytes, Convert convert) {
  std::vector<Out> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value{};
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = convert(value);
  }
  return values;
}

template <typename T, typename Convert>
std::vector<std::byte> Write(const std::vector<double>& values, Convert convert) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

template <typename T>
std::vector<double> ReadPlain(const std::vector<std::byte>& bytes) {
  return Read<T, double>(bytes, [](T value) { return static_cast<double>(value); });
}

template <typename T>
std::vector<int64_t> ReadInts(const std::vector<std::byte>& bytes) {
  return Read<T, int64_t>(bytes, [](T value) { return static_cast<int64_t>(value); });
}

template <typename T>
std::vector<std::byte> WriteInts(const std::vector<double>& values) {
  return Write<T>(values, ClampTo<T>);
}

}  // namespace

std::vector<double> ToDoubles(DType dtype, const std::vector<std::byte>& bytes) {
  switch (dtype) {
    case DType::kF32:
      return ReadPlain<float>(bytes);
    case DType::kF16:
      return Read<uint16_t, double>(bytes, HalfToDouble);
    case DType::kBf16:
      return Read<uint16_t, double>(bytes, Bfloat16ToDouble);
    case DType::kF64:
      return ReadPlain<double>(bytes);
    case DType::kU64:
      return ReadPlain<uint64_t>(bytes);
    default: {
      const std::vector<int64_t> ints = ToInts(dtype, bytes);
      std::vector<double> values(ints.size());
      std::transform(ints.begin(), ints.end(), values.begin(),
                     [](int64_t value) { return static_cast<double>(value); });
      return values;
    }
  }
}

std::vector<int64_t> ToInts(DType dtype, const std::vector<std::byte>& bytes) {
  switch (dtype) {
    case DType::kI8:
      return ReadInts<int8_t>(bytes);
    case DType::kU8:
    case DType::kBool:
      return ReadInts<uint8_t>(bytes);
    case DType::kI16:
      return ReadInts<int16_t>(bytes);
    case DType::kU16:
      return ReadInts<uint16_t>(bytes);
    case DType::kI32:
      return ReadInts<int32_t>(bytes);
    case DType::kU32:
      return ReadInts<uint32_t>(bytes);
    case DType::kI64:
      return ReadInts<int64_t>(bytes);
    default: {
      const std::vector<double> doubles = ToDoubles(dtype, bytes);
      std::vector<int64_t> values(doubles.size());
      std::transform(doubles.begin(), doubles.end(), values.begin(),
                     [](double value) { return ClampTo<int64_t>(std::trunc(value)); });
      return values;
    }
  }
}

std::vector<std::byte> FromDoubles(DType dtype, const std::vector<double>& values) {
  switch (dtype) {
    case DType::kF32:
      return Write<float>(values, [](double value) { return static_cast<float>(value); });
    case DType::kF16:
      return Write<uint16_t>(values, DoubleToHalf);
    case DType::kBf16:
      return Write<uint16_t>(values, DoubleToBfloat16);
    case DType::kF64:
      return Write<double>(values, [](double value) { return value; });
    case DType::kI8:
      return WriteInts<int8_t>(values);
    case DType::kU8:
      return WriteInts<uint8_t>(values);
    case DType::kBool:
      return Write<uint8_t>(values, [](double value) { return static_cast<uint8_t>(value != 0); });
    case DType::kI16:
      return WriteInts<int16_t>(values);
    case DType::kU16:
      return WriteInts<uint16_t>(values);
    case DType::kI32:
      return WriteInts<int32_t>(values);
    case DType::kU32:
      return WriteInts<uint32_t>(values);
    case DType::kI64:
      return WriteInts<int64_t>(values);
    case DType::kU64:
      return WriteInts<uint64_t>(values);
  }
  return {};
}

}  // namespace tenon::converter

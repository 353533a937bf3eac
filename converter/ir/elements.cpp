#include "converter/ir/elements.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tenon::converter {
namespace {

template <typename T>
T Load(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

template <typename T, typename Value>
void Store(Value value, std::byte* element) {
  const T converted = static_cast<T>(value);
  std::memcpy(element, &converted, sizeof converted);
}

/// The whole number nearest to zero of a value; what int64_t cannot hold becomes its end, NaN 0.
int64_t Whole(double value) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (std::isnan(value)) return 0;
  if (value >= kEnd) return std::numeric_limits<int64_t>::max();
  if (value < -kEnd) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

/// The same of what is not below zero, up to 2^64 - 1; below zero as `Whole`.
uint64_t WholeUnsigned(double value) {
  constexpr double kHalf = 9223372036854775808.0;  // 2^63
  if (!(value >= kHalf)) return static_cast<uint64_t>(Whole(value));
  if (value >= 2 * kHalf) return std::numeric_limits<uint64_t>::max();
  return static_cast<uint64_t>(value);
}

// Returns the bits of the significand, including the hidden one.
int SignificandBits(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 53;
    case DType::kF16:
      return 11;
    case DType::kBf16:
      return 8;
    default:
      return 24;
  }
}

bool IsUnsigned(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kU16 || dtype == DType::kU32 ||
         dtype == DType::kU64;
}

}  // namespace

uint16_t HalfFromFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<uint16_t>(sign | 0x7E00U);   // NaN
  if (magnitude >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7C00U);  // rounds past 65504
  if (magnitude < 0x38800000U) {
    // A subnormal is a multiple of 2^-24, which nearbyint finds with the right rounding.
    const float scaled = std::bit_cast<float>(magnitude) * 16777216.0F;
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(scaled)));
  }
  const uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112U << 10)));
}

float FloatFromHalf(uint16_t half) {
  const uint32_t sign = (static_cast<uint32_t>(half) & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1FU;
  const uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) / 16777216.0F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + 112U;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

uint16_t Bfloat16FromFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

float FloatFromBfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

double ReadElement(DType dtype, const std::byte* element) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<double>(Load<float>(element));
    case DType::kF64:
      return Load<double>(element);
    case DType::kF16:
      return static_cast<double>(FloatFromHalf(Load<uint16_t>(element)));
    case DType::kBf16:
      return static_cast<double>(FloatFromBfloat16(Load<uint16_t>(element)));
    case DType::kU64:
      return static_cast<double>(Load<uint64_t>(element));
    default:
      return static_cast<double>(ReadInteger(dtype, element));
  }
}

void WriteElement(DType dtype, double value, std::byte* element) {
  switch (dtype) {
    case DType::kF32:
      return Store<float>(value, element);
    case DType::kF64:
      return Store<double>(value, element);
    case DType::kF16:
      return Store<uint16_t>(HalfFromFloat(static_cast<float>(value)), element);
    case DType::kBf16:
      return Store<uint16_t>(Bfloat16FromFloat(static_cast<float>(value)), element);
    case DType::kU64:
      return Store<uint64_t>(WholeUnsigned(value), element);
    default:
      return WriteInteger(dtype, Whole(value), element);
  }
}

int64_t ReadInteger(DType dtype, const std::byte* element) {
  switch (dtype) {
    case DType::kI8:
      return Load<int8_t>(element);
    case DType::kI16:
      return Load<int16_t>(element);
    case DType::kU16:
      return Load<uint16_t>(element);
    case DType::kI32:
      return Load<int32_t>(element);
    case DType::kU32:
      return Load<uint32_t>(element);
    case DType::kI64:
    case DType::kU64:
      return Load<int64_t>(element);
    default:
      return Load<uint8_t>(element);
  }
}

void WriteInteger(DType dtype, int64_t value, std::byte* element) {
  switch (DTypeBytes(dtype)) {
    case 1:
      return Store<uint8_t>(value, element);
    case 2:
      return Store<uint16_t>(value, element);
    case 4:
      return Store<uint32_t>(value, element);
    default:
      return Store<int64_t>(value, element);
  }
}

std::vector<double> ReadElements(const Tensor& constant) {
  const auto width = static_cast<size_t>(DTypeBytes(constant.dtype));
  std::vector<double> values(constant.constant->size() / width);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = ReadElement(constant.dtype, constant.constant->data() + i * width);
  }
  return values;
}

std::vector<std::byte> WriteElements(DType dtype, const std::vector<double>& values) {
  const auto width = static_cast<size_t>(DTypeBytes(dtype));
  std::vector<std::byte> bytes(values.size() * width);
  for (size_t i = 0; i < values.size(); ++i) {
    WriteElement(dtype, values[i], bytes.data() + i * width);
  }
  return bytes;
}

std::vector<std::byte> RandomElements(DType dtype, int64_t count, uint64_t seed) {
  const auto width = static_cast<size_t>(DTypeBytes(dtype));
  std::vector<std::byte> bytes(static_cast<size_t>(count) * width);
  SplitMix64 generator(seed);
  const int significand = SignificandBits(dtype);
  const double step = std::ldexp(1.0, 1 - significand);
  for (size_t offset = 0; offset < bytes.size(); offset += width) {
    const uint64_t next = generator.Next();
    std::byte* element = bytes.data() + offset;
    if (IsFloat(dtype)) {
      // The number has exactly `significand` bits, so that no rounding depends on the machine.
      const auto steps = static_cast<double>(next >> (64 - significand));
      WriteElement(dtype, steps * step - 1.0, element);
    } else if (dtype == DType::kBool) {
      WriteInteger(dtype, static_cast<int64_t>(next >> 63), element);
    } else {
      const auto value = static_cast<int64_t>(next >> 60);
      WriteInteger(dtype, IsUnsigned(dtype) ? value : value - 8, element);
    }
  }
  return bytes;
}

}  // namespace tenon::converter

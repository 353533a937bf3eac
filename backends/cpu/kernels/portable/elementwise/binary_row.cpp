#include <cmath>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "backends/cpu/kernels/portable/math.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"

namespace tenon::cpu::portable {
namespace {

/// What integer arithmetic is done in: unsigned, so that it wraps, and wide enough not to be
/// promoted to int.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T, typename Function>
[[nodiscard]] T Wrap(T x, T y, Function function) {
  if constexpr (std::is_floating_point_v<T>) {
    return function(x, y);
  } else {
    return static_cast<T>(function(static_cast<Wrapping<T>>(x), static_cast<Wrapping<T>>(y)));
  }
}

struct Add {
  template <typename T>
  static T Call(T x, T y) {
    return Wrap(x, y, [](auto a, auto b) { return a + b; });
  }
};

struct Subtract {
  template <typename T>
  static T Call(T x, T y) {
    return Wrap(x, y, [](auto a, auto b) { return a - b; });
  }
};

struct Multiply {
  template <typename T>
  static T Call(T x, T y) {
    return Wrap(x, y, [](auto a, auto b) { return a * b; });
  }
};

struct Divide {
  template <typename T>
  static T Call(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return x / y;
    } else {
      if (y == 0) return 0;
      // The one quotient that does not fit, lowest / -1, wraps.
      if (std::is_signed_v<T> && y == static_cast<T>(-1)) return Subtract::Call(T{0}, x);
      return static_cast<T>(x / y);
    }
  }
};

/// Remainder with the dividend's sign.
struct Fmod {
  template <typename T>
  static T Call(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(x, y);
    } else {
      if (y == 0 || (std::is_signed_v<T> && y == static_cast<T>(-1))) return 0;
      return static_cast<T>(x % y);
    }
  }
};

/// Remainder with the divisor's sign.
struct Mod {
  template <typename T>
  static T Call(T x, T y) {
    const T rest = Fmod::Call(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(rest + y) : rest;
  }
};

struct Power {
  template <typename T>
  static T Call(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::pow(x, y);
    } else {
      if (std::is_signed_v<T> && y < 0) return OfNegative(x, y);
      T result = 1;
      for (; y != 0; y = static_cast<T>(y / 2)) {
        if (y % 2 != 0) result = Multiply::Call(result, x);
        x = Multiply::Call(x, x);
      }
      return result;
    }
  }

 private:
  /// 1 / x^|y| truncated: not 0 for 1 and -1 only.
  template <typename T>
  static T OfNegative(T x, T y) {
    if (x == 1) return 1;
    if (x == static_cast<T>(-1)) return y % 2 != 0 ? x : T{1};
    return 0;
  }
};

// NaN in either operand gives NaN.
struct Maximum {
  template <typename T>
  static T Call(T x, T y) {
    return ((x > y) | (x != x)) ? x : y;
  }
};

struct Minimum {
  template <typename T>
  static T Call(T x, T y) {
    return ((x < y) | (x != x)) ? x : y;
  }
};

struct Prelu {
  template <typename T>
  static T Call(T x, T y) {
    const T scaled = Multiply::Call(x, y);
    return x < 0 ? scaled : x;
  }
};

struct Equal {
  template <typename T>
  static bool Call(T x, T y) {
    return x == y;
  }
};

struct Less {
  template <typename T>
  static bool Call(T x, T y) {
    return x < y;
  }
};

struct LessOrEqual {
  template <typename T>
  static bool Call(T x, T y) {
    return x <= y;
  }
};

struct Greater {
  template <typename T>
  static bool Call(T x, T y) {
    return x > y;
  }
};

struct GreaterOrEqual {
  template <typename T>
  static bool Call(T x, T y) {
    return x >= y;
  }
};

struct And {
  static bool Call(uint8_t x, uint8_t y) { return (x != 0) & (y != 0); }
};

struct Or {
  static bool Call(uint8_t x, uint8_t y) { return (x | y) != 0; }
};

struct Xor {
  static bool Call(uint8_t x, uint8_t y) { return (x != 0) != (y != 0); }
};

struct EqualBool {
  static bool Call(uint8_t x, uint8_t y) { return (x != 0) == (y != 0); }
};

template <typename T, typename Function>
void Row(const void* x_data, const void* y_data, void* z_data, int count) {
  const auto* x = static_cast<const T*>(x_data);
  const auto* y = static_cast<const T*>(y_data);
  auto* z = static_cast<T*>(z_data);
  TENON_INDEPENDENT_LOOP
  for (int i = 0; i < count; ++i) z[i] = Function::Call(x[i], y[i]);
}

template <typename T, typename Function>
void TestRow(const void* x_data, const void* y_data, void* z_data, int count) {
  const auto* x = static_cast<const T*>(x_data);
  const auto* y = static_cast<const T*>(y_data);
  auto* z = static_cast<uint8_t*>(z_data);
  TENON_INDEPENDENT_LOOP
  for (int i = 0; i < count; ++i) z[i] = static_cast<uint8_t>(Function::Call(x[i], y[i]));
}

template <typename T>
BinaryRowFunction FindNumberRow(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::kAdd:
      return Row<T, Add>;
    case BinaryFunction::kSub:
      return Row<T, Subtract>;
    case BinaryFunction::kMul:
      return Row<T, Multiply>;
    case BinaryFunction::kDiv:
      return Row<T, Divide>;
    case BinaryFunction::kPow:
      return Row<T, Power>;
    case BinaryFunction::kMax:
      return Row<T, Maximum>;
    case BinaryFunction::kMin:
      return Row<T, Minimum>;
    case BinaryFunction::kPrelu:
      return Row<T, Prelu>;
    case BinaryFunction::kMod:
      return Row<T, Mod>;
    case BinaryFunction::kFmod:
      return Row<T, Fmod>;
    case BinaryFunction::kEqual:
      return TestRow<T, Equal>;
    case BinaryFunction::kLess:
      return TestRow<T, Less>;
    case BinaryFunction::kLessOrEqual:
      return TestRow<T, LessOrEqual>;
    case BinaryFunction::kGreater:
      return TestRow<T, Greater>;
    case BinaryFunction::kGreaterOrEqual:
      return TestRow<T, GreaterOrEqual>;
    default:
      return nullptr;
  }
}

BinaryRowFunction FindBoolRow(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::kEqual:
      return TestRow<uint8_t, EqualBool>;
    case BinaryFunction::kAnd:
      return TestRow<uint8_t, And>;
    case BinaryFunction::kOr:
      return TestRow<uint8_t, Or>;
    case BinaryFunction::kXor:
      return TestRow<uint8_t, Xor>;
    default:
      return nullptr;
  }
}

struct SquareOf {
  static float Call(float x, float) { return x * x; }
};

struct CubeOf {
  static float Call(float x, float) { return x * x * x; }
};

struct FourthOf {
  static float Call(float x, float) { return (x * x) * (x * x); }
};

struct ReciprocalOf {
  static float Call(float x, float) { return 1.0F / x; }
};

struct ReciprocalSquareOf {
  static float Call(float x, float) { return 1.0F / (x * x); }
};

struct IdentityOf {
  static float Call(float x, float) { return x; }
};

/// As pow has it, and a square root alone has not: +0 for -0, +infinity for -infinity.
struct RootOf {
  static float Call(float x, float) {
    const float root = std::sqrt(x + 0.0F);
    return x == -math::kInfinity ? math::kInfinity : root;
  }
};

}  // namespace

BinaryRowFunction FindBinaryRow(BinaryFunction function, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return FindNumberRow<float>(function);
    case DType::kF64:
      return FindNumberRow<double>(function);
    case DType::kI8:
      return FindNumberRow<int8_t>(function);
    case DType::kU8:
      return FindNumberRow<uint8_t>(function);
    case DType::kI32:
      return FindNumberRow<int32_t>(function);
    case DType::kI64:
      return FindNumberRow<int64_t>(function);
    case DType::kBool:
      return FindBoolRow(function);
    default:
      return nullptr;
  }
}

BinaryRowFunction FindPowerRow(float exponent) {
  if (exponent == 2.0F) return Row<float, SquareOf>;
  if (exponent == 3.0F) return Row<float, CubeOf>;
  if (exponent == 4.0F) return Row<float, FourthOf>;
  if (exponent == 1.0F) return Row<float, IdentityOf>;
  if (exponent == 0.5F) return Row<float, RootOf>;
  if (exponent == -1.0F) return Row<float, ReciprocalOf>;
  if (exponent == -2.0F) return Row<float, ReciprocalSquareOf>;
  return nullptr;
}

BinaryRowFunction ChooseBinaryRow(BinaryFunction function, const TensorView& y) {
  if (function == BinaryFunction::kPow && y.dtype == DType::kF32 && y.Elements() == 1) {
    const BinaryRowFunction power = FindPowerRow(*y.As<float>());
    if (power != nullptr) return power;
  }
  return FindBinaryRow(function, y.dtype);
}

}  // namespace tenon::cpu::portable

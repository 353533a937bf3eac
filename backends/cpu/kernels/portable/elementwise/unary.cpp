#include <cmath>

#include "backends/cpu/kernels/portable/elementwise/convert.hpp"
#include "backends/cpu/kernels/portable/elementwise/fixed_point_words.hpp"
#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/stage.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

// A row of `count` contiguous elements: y = function(x); y may be exactly x.
using RowFunction = void (*)(const UnaryAttributes& attributes, const char* x, char* y, int count);

void FloatRow(const UnaryAttributes& attributes, const char* x, char* y, int count) {
  UnaryRow(attributes.function, attributes.a, attributes.b, reinterpret_cast<const float*>(x),
           reinterpret_cast<float*>(y), count);
}

void HalfRow(const UnaryAttributes& attributes, const char* x, char* y, int count) {
  const auto* from = reinterpret_cast<const uint16_t*>(x);
  auto* to = reinterpret_cast<uint16_t*>(y);
  float values[kStageElements];
  for (int done = 0; done < count; done += kStageElements) {
    const int piece = count - done < kStageElements ? count - done : kStageElements;
    for (int i = 0; i < piece; ++i) values[i] = HalfToFloat(from[done + i]);
    UnaryRow(attributes.function, attributes.a, attributes.b, values, values, piece);
    for (int i = 0; i < piece; ++i) to[done + i] = FloatToHalf(values[i]);
  }
}

double Logistic(double x) {
  const double e = std::exp(-std::abs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

double GeluTanhOf(double x) {
  return x * Logistic(1.5957691216057308 * x * (1.0 + 0.044715 * x * x));
}

double SoftplusOf(double x) { return (x > 0.0 ? x : 0.0) + std::log1p(std::exp(-std::abs(x))); }

double ApplyDouble(UnaryFunction function, double x, double a, double b) {
  switch (function) {
#define TENON_UNARY_FORMULA(Kind, in_floats, in_doubles) \
  case UnaryFunction::k##Kind:                           \
    return in_doubles;
#include "backends/cpu/kernels/portable/elementwise/unary_functions.inc"
#undef TENON_UNARY_FORMULA
  }
  return x;
}

void DoubleRow(const UnaryAttributes& attributes, const char* x, char* y, int count) {
  const auto* from = reinterpret_cast<const double*>(x);
  auto* to = reinterpret_cast<double*>(y);
  const auto a = static_cast<double>(attributes.a);
  const auto b = static_cast<double>(attributes.b);
  for (int i = 0; i < count; ++i) to[i] = ApplyDouble(attributes.function, from[i], a, b);
}

/// Sigmoid or tanh of fixed-point numbers with `a` bits before the point.
void FixedPointRow(const UnaryAttributes& attributes, const char* x, char* y, int count) {
  const auto* from = reinterpret_cast<const int16_t*>(x);
  auto* to = reinterpret_cast<int16_t*>(y);
  const auto bits = static_cast<int>(attributes.a);
  if (attributes.function == UnaryFunction::kSigmoid) {
    for (int i = 0; i < count; ++i) to[i] = fixed_point_words::Sigmoid(from[i], bits);
  } else {
    for (int i = 0; i < count; ++i) to[i] = fixed_point_words::Tanh(from[i], bits);
  }
}

/// Signed integers. -x and |x| of the lowest value are that value (they wrap).
template <typename T>
void IntegerRow(const UnaryAttributes& attributes, const char* x, char* y, int count) {
  const auto* from = reinterpret_cast<const T*>(x);
  auto* to = reinterpret_cast<T*>(y);
  const auto map = [&](auto function) {
    TENON_INDEPENDENT_LOOP
    for (int i = 0; i < count; ++i) to[i] = function(from[i]);
  };
  const auto negate = [](T v) { return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(v)); };
  switch (attributes.function) {
    case UnaryFunction::kRelu:
      return map([](T v) { return v < 0 ? T{0} : v; });
    case UnaryFunction::kClip: {
      const T low = SaturateToInteger<T>(attributes.a);
      const T high = SaturateToInteger<T>(attributes.b);
      return map([=](T v) {
        const T raised = v < low ? low : v;
        return raised > high ? high : raised;
      });
    }
    case UnaryFunction::kAbs:
      return map([=](T v) { return v < 0 ? negate(v) : v; });
    case UnaryFunction::kNeg:
      return map(negate);
    default:  // kSign: the shape rule lets no other function through
      return map([](T v) { return static_cast<T>((v > 0 ? 1 : 0) - (v < 0 ? 1 : 0)); });
  }
}

void NotRow(const UnaryAttributes&, const char* x, char* y, int count) {
  TENON_INDEPENDENT_LOOP
  for (int i = 0; i < count; ++i) y[i] = x[i] == 0 ? 1 : 0;
}

RowFunction ChooseRow(UnaryFunction function, DType dtype) {
  const bool is_curve = function == UnaryFunction::kSigmoid || function == UnaryFunction::kTanh;
  switch (dtype) {
    case DType::kF64:
      return DoubleRow;
    case DType::kF16:
      return HalfRow;
    case DType::kI8:
      return IntegerRow<int8_t>;
    case DType::kI16:
      return is_curve ? FixedPointRow : IntegerRow<int16_t>;
    case DType::kI32:
      return IntegerRow<int32_t>;
    case DType::kI64:
      return IntegerRow<int64_t>;
    case DType::kBool:
      return NotRow;
    default:
      return FloatRow;
  }
}

}  // namespace

Status UnaryRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<UnaryAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (attributes.function == UnaryFunction::kIdentity) {
    CopyView(y, x, call.parallel);
    return OkStatus();
  }
  LoopNest<2> nest = ElementRows(y, x);
  const RowFunction row = ChooseRow(attributes.function, x.dtype);
  const Stager to = {nest.RowStride(0), DTypeBytes(y.dtype)};
  const Stager from = {nest.RowStride(1), DTypeBytes(x.dtype)};
  const bool is_direct = to.IsContiguous() && from.IsContiguous();
  const Cursor<2> start = {{y.As<char>(), x.As<char>()}};
  ForEachRow(nest, start, call.parallel, [&](const Cursor<2>& cursor, int count) {
    if (is_direct) return row(attributes, cursor.at[1], cursor.at[0], count);
    Stage stage;
    Stage result;
    for (int done = 0; done < count; done += kStageElements) {
      const int piece = count - done < kStageElements ? count - done : kStageElements;
      const char* values = from.Read(cursor.at[1], done, piece, stage);
      row(attributes, values, to.Target(cursor.at[0], done, result), piece);
      to.Write(cursor.at[0], done, piece, result);
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable

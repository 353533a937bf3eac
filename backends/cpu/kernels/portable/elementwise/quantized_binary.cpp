#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/quantized_values.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

/// Elements less their zero points.
struct Operand {
  int32_t flip;
  int32_t zero_point;

  [[nodiscard]] int32_t ValueOf(char byte) const {
    return ByteValue(static_cast<uint8_t>(byte), flip) - zero_point;
  }
};

struct Plan {
  const QuantizedBinaryAttributes& attributes;
  Operand x;
  Operand y;
  ptrdiff_t strides[3];  ///< of a row: z, x, y
};

/// z = f(x, y) of integers less their zero points, `f` giving the rounded result.
template <typename Function>
void MapRow(const Plan& plan, const Cursor<3>& cursor, int count, const Function& function) {
  char* z = cursor.at[0];
  const char* x = cursor.at[1];
  const char* y = cursor.at[2];
  for (int i = 0; i < count; ++i) {
    const int32_t rounded = function(plan.x.ValueOf(*x), plan.y.ValueOf(*y));
    *z = static_cast<char>(OutputByte(plan.attributes.output, rounded));
    z += plan.strides[0];
    x += plan.strides[1];
    y += plan.strides[2];
  }
}

/// An element on the common scale of both operands; the differences and shifts of the attributes
/// leave 30 bits at most.
int32_t OnCommonScale(int32_t value, int32_t left_shift, const QuantizedScale& scale) {
  return FixedPointMultiply(value * (1 << left_shift), scale.multiplier, scale.shift);
}

void FixedPointRow(const Plan& plan, const Cursor<3>& cursor, int count) {
  const QuantizedBinaryAttributes& a = plan.attributes;
  if (a.function == BinaryFunction::kMul) {
    return MapRow(plan, cursor, count, [&](int32_t x, int32_t y) {
      return FixedPointMultiply(x * y, a.output_scale.multiplier, a.output_scale.shift);
    });
  }
  const bool subtract = a.function == BinaryFunction::kSub;
  MapRow(plan, cursor, count, [&](int32_t x, int32_t y) {
    const auto left = static_cast<uint32_t>(OnCommonScale(x, a.left_shift, a.x_scale));
    const auto right = static_cast<uint32_t>(OnCommonScale(y, a.left_shift, a.y_scale));
    const auto sum = static_cast<int32_t>(subtract ? left - right : left + right);
    return FixedPointMultiply(sum, a.output_scale.multiplier, a.output_scale.shift);
  });
}

void FloatRow(const Plan& plan, const Cursor<3>& cursor, int count) {
  const QuantizedBinaryAttributes& a = plan.attributes;
  const auto map = [&](auto function) {
    MapRow(plan, cursor, count, [&](int32_t x, int32_t y) {
      const float left = static_cast<float>(x) * a.x_scale.scale;
      const float right = static_cast<float>(y) * a.y_scale.scale;
      return RoundHalfEven(function(left, right) / a.output_scale.scale);
    });
  };
  switch (a.function) {
    case BinaryFunction::kAdd:
      return map([](float x, float y) { return x + y; });
    case BinaryFunction::kSub:
      return map([](float x, float y) { return x - y; });
    case BinaryFunction::kMul:
      return map([](float x, float y) { return x * y; });
    case BinaryFunction::kDiv:
      return map([](float x, float y) { return x / y; });
    case BinaryFunction::kMax:
      return map([](float x, float y) { return x > y ? x : y; });
    default:  // kMin: the shape rule lets no other function through
      return map([](float x, float y) { return x < y ? x : y; });
  }
}

}  // namespace

Status QuantizedBinaryRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<QuantizedBinaryAttributes>();
  const TensorView& x = call.op.Input(BinaryInput::kX);
  const TensorView& y = call.op.Input(BinaryInput::kY);
  const TensorView& z = call.op.Output();
  if (z.Elements() == 0) return OkStatus();
  LoopNest<3> nest = ElementRows(z, x, y);
  nest.LengthenRows();
  const Plan plan = {attributes,
                     {SignFlip(x.dtype), attributes.x_zero_point},
                     {SignFlip(y.dtype), attributes.y_zero_point},
                     {nest.RowStride(0), nest.RowStride(1), nest.RowStride(2)}};
  const auto row = attributes.output.rounding == Rounding::kFixedPoint ? FixedPointRow : FloatRow;
  const Cursor<3> start = {{z.As<char>(), x.As<char>(), y.As<char>()}};
  ForEachRow(nest, start, call.parallel,
             [&](const Cursor<3>& cursor, int count) { row(plan, cursor, count); });
  return OkStatus();
}

}  // namespace tenon::cpu::portable

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
  DType dtype;
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
  bool is_wide;          ///< not all are bytes
};

constexpr int kWideElements = 32;  // widened at once

template <typename T>
void Widen(const char* from, ptrdiff_t stride, int count, int32_t* to) {
  for (int i = 0; i < count; ++i, from += stride) to[i] = *reinterpret_cast<const T*>(from);
}

/// The values of `count` elements of any dtype that the shape rule lets through.
void ReadValues(const Operand& operand, const char* from, ptrdiff_t stride, int count,
                int32_t* to) {
  if (operand.dtype == DType::kI32) return Widen<int32_t>(from, stride, count, to);
  if (operand.dtype == DType::kI16) return Widen<int16_t>(from, stride, count, to);
  for (int i = 0; i < count; ++i) to[i] = operand.ValueOf(from[i * stride]);
}

void WriteValues(const QuantizedOutput& output, const int32_t* rounded, int count, char* to,
                 ptrdiff_t stride) {
  const bool is_word = output.to == static_cast<int32_t>(DType::kI16);
  for (int i = 0; i < count; ++i, to += stride) {
    const int32_t value = Saturate(output, rounded[i]);
    if (is_word) {
      *reinterpret_cast<int16_t*>(to) = static_cast<int16_t>(value);
    } else {
      *to = static_cast<char>(value);
    }
  }
}

/// A row some of whose operands have more than 8 bits; z may be x or y, element by element.
template <typename Function>
void MapWideRow(const Plan& plan, const Cursor<3>& cursor, int count, const Function& function) {
  int32_t xs[kWideElements];
  int32_t ys[kWideElements];
  for (int done = 0; done < count; done += kWideElements) {
    const int piece = count - done < kWideElements ? count - done : kWideElements;
    ReadValues(plan.x, cursor.at[1] + done * plan.strides[1], plan.strides[1], piece, xs);
    ReadValues(plan.y, cursor.at[2] + done * plan.strides[2], plan.strides[2], piece, ys);
    for (int i = 0; i < piece; ++i) xs[i] = function(xs[i], ys[i]);
    WriteValues(plan.attributes.output, xs, piece, cursor.at[0] + done * plan.strides[0],
                plan.strides[0]);
  }
}

/// z = f(x, y) of integers less their zero points, `f` giving the rounded result.
template <typename Function>
void MapRow(const Plan& plan, const Cursor<3>& cursor, int count, const Function& function) {
  if (plan.is_wide) return MapWideRow(plan, cursor, count, function);
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

/// An element on the common scale of both operands; one of more than 8 bits may wrap.
int32_t OnCommonScale(int32_t value, int32_t left_shift, const QuantizedScale& scale) {
  const auto shifted = static_cast<int32_t>(static_cast<uint32_t>(value) << left_shift);
  return FixedPointMultiply(shifted, scale.multiplier, scale.shift);
}

void FixedPointRow(const Plan& plan, const Cursor<3>& cursor, int count) {
  const QuantizedBinaryAttributes& a = plan.attributes;
  if (a.function == BinaryFunction::kMul) {
    return MapRow(plan, cursor, count, [&](int32_t x, int32_t y) {
      const auto product =
          static_cast<int32_t>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
      return FixedPointMultiply(product, a.output_scale.multiplier, a.output_scale.shift);
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
  const bool is_wide = DTypeBytes(x.dtype) + DTypeBytes(y.dtype) + DTypeBytes(z.dtype) > 3;
  const Plan plan = {attributes,
                     {x.dtype, SignFlip(x.dtype), attributes.x_zero_point},
                     {y.dtype, SignFlip(y.dtype), attributes.y_zero_point},
                     {nest.RowStride(0), nest.RowStride(1), nest.RowStride(2)},
                     is_wide};
  const auto row = attributes.output.rounding == Rounding::kFixedPoint ? FixedPointRow : FloatRow;
  const Cursor<3> start = {{z.As<char>(), x.As<char>(), y.As<char>()}};
  ForEachRow(nest, start, call.parallel,
             [&](const Cursor<3>& cursor, int count) { row(plan, cursor, count); });
  return OkStatus();
}

}  // namespace tenon::cpu::portable

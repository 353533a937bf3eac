#include <cstddef>
#include <cstdint>
#include <limits>

#include "backends/cpu/kernels/portable/elementwise/scale_operands.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::portable {
namespace {

template <typename T, int32_t (*Round)(float)>
void QuantizeRow(const Cursor<4>& start, const ptrdiff_t* strides, int count) {
  constexpr int32_t kLeast = std::numeric_limits<T>::min();
  constexpr int32_t kMost = std::numeric_limits<T>::max();
  Cursor<4> cursor = start;
  for (int i = 0; i < count; ++i, Step(cursor, strides)) {
    const float x = *reinterpret_cast<const float*>(cursor.at[1]);
    const float scale = *reinterpret_cast<const float*>(cursor.at[2]);
    const int32_t zero_point = *reinterpret_cast<const T*>(cursor.at[3]);
    const int32_t y = Round(x / scale) + zero_point;  // far from overflow: see requantize.hpp
    const int32_t raised = y < kLeast ? kLeast : y;
    *reinterpret_cast<T*>(cursor.at[0]) = static_cast<T>(raised > kMost ? kMost : raised);
  }
}

using RowFunction = void (*)(const Cursor<4>& start, const ptrdiff_t* strides, int count);

template <typename T>
RowFunction ChooseRounding(Rounding rounding) {
  return rounding == Rounding::kHalfAway ? QuantizeRow<T, RoundHalfAway>
                                         : QuantizeRow<T, RoundHalfEven>;
}

RowFunction ChooseRow(DType dtype, Rounding rounding) {
  switch (dtype) {
    case DType::kI8:
      return ChooseRounding<int8_t>(rounding);
    case DType::kU8:
      return ChooseRounding<uint8_t>(rounding);
    case DType::kI16:
      return ChooseRounding<int16_t>(rounding);
    default:
      return ChooseRounding<uint16_t>(rounding);
  }
}

}  // namespace

Status QuantizeRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<QuantizeAttributes>();
  ForEachScaledRow(call, attributes.axis, ChooseRow(call.op.Output().dtype, attributes.rounding));
  return OkStatus();
}

}  // namespace tenon::cpu::portable

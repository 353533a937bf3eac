#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/elementwise/scale_operands.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

template <typename T>
void DequantizeRow(const Cursor<4>& start, const ptrdiff_t* strides, int count) {
  Cursor<4> cursor = start;
  for (int i = 0; i < count; ++i, Step(cursor, strides)) {
    const int32_t x = *reinterpret_cast<const T*>(cursor.at[1]);
    const float scale = *reinterpret_cast<const float*>(cursor.at[2]);
    const int32_t zero_point = *reinterpret_cast<const T*>(cursor.at[3]);
    // Differences of i32 wrap.
    const uint32_t difference = static_cast<uint32_t>(x) - static_cast<uint32_t>(zero_point);
    *reinterpret_cast<float*>(cursor.at[0]) =
        static_cast<float>(static_cast<int32_t>(difference)) * scale;
  }
}

using RowFunction = void (*)(const Cursor<4>& start, const ptrdiff_t* strides, int count);

RowFunction ChooseRow(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return DequantizeRow<int8_t>;
    case DType::kU8:
      return DequantizeRow<uint8_t>;
    case DType::kI16:
      return DequantizeRow<int16_t>;
    case DType::kU16:
      return DequantizeRow<uint16_t>;
    default:
      return DequantizeRow<int32_t>;
  }
}

}  // namespace

Status DequantizeRun(const KernelCall& call) {
  ForEachScaledRow(call, call.op.AttributesAs<DequantizeAttributes>().axis,
                   ChooseRow(call.op.Input(QuantizeInput::kX).dtype));
  return OkStatus();
}

}  // namespace tenon::cpu::portable

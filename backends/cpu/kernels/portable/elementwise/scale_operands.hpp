// Loops over the elements of quantize and dequantize, each with the scale and zero point of its
// index along an axis.
#pragma once

#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {

/// Calls `row(cursor, strides, count)` for every row of the output, on several threads where that
/// pays. Operands are y, x, scale and zero point, in this order; strides are in bytes. Where the op
/// has no zero point, a 0 replaces it.
template <typename Row>
void ForEachScaledRow(const KernelCall& call, int axis, const Row& row) {
  static constexpr int32_t kZero = 0;  // of every integer type
  const TensorView& x = call.op.Input(QuantizeInput::kX);
  const TensorView& y = call.op.Output();
  const TensorView& scale = call.op.Input(QuantizeInput::kScale);
  const bool each = scale.dims[0] != 1;
  const bool shifted = call.op.HasInput(QuantizeInput::kZeroPoint);
  const ptrdiff_t scale_stride = each ? ByteStride(scale, 0) : 0;
  const ptrdiff_t zero_stride =
      each && shifted ? ByteStride(call.op.Input(QuantizeInput::kZeroPoint), 0) : 0;
  LoopNest<4> nest;
  for (int k = 0; k < y.rank; ++k) {
    nest.Add(y.dims[k], ByteStride(y, k), ByteStride(x, k), k == axis ? scale_stride : 0,
             k == axis ? zero_stride : 0);
  }
  nest.Simplify();
  nest.LengthenRows();
  ptrdiff_t strides[4];
  for (int i = 0; i < 4; ++i) strides[i] = nest.RowStride(i);
  // Cursors are for outputs too; nothing writes through this one.
  char* zero = const_cast<char*>(reinterpret_cast<const char*>(&kZero));
  const Cursor<4> start = {{y.As<char>(), x.As<char>(), scale.As<char>(),
                            shifted ? call.op.Input(QuantizeInput::kZeroPoint).As<char>() : zero}};
  ForEachRow(nest, start, call.parallel,
             [&](const Cursor<4>& cursor, int count) { row(cursor, strides, count); });
}

inline void Step(Cursor<4>& cursor, const ptrdiff_t* strides) {
  for (int i = 0; i < 4; ++i) cursor.at[i] += strides[i];
}

}  // namespace tenon::cpu::portable

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/quantized_values.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

struct Table {
  const char* entries;
  ptrdiff_t stride;  ///< bytes
  int32_t flip;      ///< from x's bits to the entry's number
};

template <typename Word>
void LookUpRow(const Table& table, char* y, ptrdiff_t y_stride, const char* x, ptrdiff_t x_stride,
               int count) {
  for (int i = 0; i < count; ++i, y += y_stride, x += x_stride) {
    const int32_t entry = static_cast<uint8_t>(*x) ^ table.flip;
    CopyRow<Word>(y, sizeof(Word), table.entries + entry * table.stride, sizeof(Word), 1);
  }
}

}  // namespace

Status LookupRun(const KernelCall& call) {
  const TensorView& x = call.op.Input(LookupInput::kX);
  const TensorView& entries = call.op.Input(LookupInput::kTable);
  const TensorView& y = call.op.Output();
  const Table table = {entries.As<const char>(), ByteStride(entries, 0), SignFlip(x.dtype)};
  const auto row = y.dtype == DType::kF32 ? LookUpRow<uint32_t> : LookUpRow<uint8_t>;
  LoopNest<2> nest = ElementRows(y, x);
  nest.LengthenRows();
  const Cursor<2> start = {{y.As<char>(), x.As<char>()}};
  ForEachRow(nest, start, call.parallel, [&](const Cursor<2>& cursor, int count) {
    row(table, cursor.at[0], nest.RowStride(0), cursor.at[1], nest.RowStride(1), count);
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable

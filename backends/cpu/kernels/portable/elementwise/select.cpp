#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

using In = SelectInput;

/// Computes a row whose z and condition lie without gaps; of x and y each may be one element.
template <typename T, bool kRepeatsX, bool kRepeatsY>
void SelectDenseRow(const Cursor<4>& cursor, int count) {
  using Word [[gnu::may_alias]] = T;
  auto* z = reinterpret_cast<Word*>(cursor.at[0]);
  const auto* condition = reinterpret_cast<const uint8_t*>(cursor.at[1]);
  const auto* x = reinterpret_cast<const Word*>(cursor.at[2]);
  const auto* y = reinterpret_cast<const Word*>(cursor.at[3]);
  const T first_x = x[0];
  const T first_y = y[0];
  TENON_INDEPENDENT_LOOP
  for (int i = 0; i < count; ++i) {
    const T if_true = kRepeatsX ? first_x : x[i];
    const T if_false = kRepeatsY ? first_y : y[i];
    z[i] = condition[i] != 0 ? if_true : if_false;
  }
}

/// Computes one row of z = condition ? x : y; `stride` has the byte strides of z, condition, x and
/// y.
template <typename T>
void SelectRow(const Cursor<4>& cursor, const ptrdiff_t (&stride)[4], int count) {
  using Word [[gnu::may_alias]] = T;
  constexpr auto kBytes = static_cast<ptrdiff_t>(sizeof(T));
  if (count > 0 && stride[0] == kBytes && stride[1] == 1) {
    const bool is_dense_x = stride[2] == kBytes;
    const bool is_dense_y = stride[3] == kBytes;
    if (is_dense_x && is_dense_y) return SelectDenseRow<T, false, false>(cursor, count);
    if (stride[2] == 0 && is_dense_y) return SelectDenseRow<T, true, false>(cursor, count);
    if (is_dense_x && stride[3] == 0) return SelectDenseRow<T, false, true>(cursor, count);
  }
  char* z = cursor.at[0];
  if (count > 0 && stride[1] == 0) {  // one condition for all
    const int chosen = *cursor.at[1] != 0 ? 2 : 3;
    const bool is_there = cursor.at[chosen] == z && stride[chosen] == stride[0];
    if (!is_there) CopyRow<T>(z, stride[0], cursor.at[chosen], stride[chosen], count);
    return;
  }
  for (ptrdiff_t i = 0; i < count; ++i) {
    const bool condition = cursor.at[1][i * stride[1]] != 0;
    const char* chosen = condition ? cursor.at[2] + i * stride[2] : cursor.at[3] + i * stride[3];
    *reinterpret_cast<Word*>(z) = *reinterpret_cast<const Word*>(chosen);
    z += stride[0];
  }
}

}  // namespace

Status SelectRun(const KernelCall& call) {
  const TensorView& condition = call.op.Input(In::kCondition);
  const TensorView& x = call.op.Input(In::kX);
  const TensorView& y = call.op.Input(In::kY);
  const TensorView& z = call.op.Output();
  const LoopNest<4> nest = ElementRows(z, condition, x, y);
  const ptrdiff_t strides[4] = {nest.RowStride(0), nest.RowStride(1), nest.RowStride(2),
                                nest.RowStride(3)};
  const Cursor<4> start = {{z.As<char>(), condition.As<char>(), x.As<char>(), y.As<char>()}};
  WithWord(DTypeBytes(z.dtype), [&](auto word) {
    ForEachRow(nest, start, call.parallel, [&](const Cursor<4>& cursor, int count) {
      SelectRow<decltype(word)>(cursor, strides, count);
    });
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable

#include <cstddef>

#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

/// Sums wrap: those of integers are computed in the unsigned type `Sum`.
template <typename T, typename Sum = T>
void CumSum(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<CumSumAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  const int axis = attributes.axis;
  const int count = x.dims[axis];
  const auto rows = static_cast<int>(x.Elements() / count);
  const bool exclusive = attributes.exclusive != 0;
  // Backwards: from the last element of a row, by steps the other way.
  const ptrdiff_t direction = attributes.reverse != 0 ? -1 : 1;
  const ptrdiff_t first = attributes.reverse != 0 ? count - 1 : 0;
  const ptrdiff_t x_step = direction * x.strides[axis];
  const ptrdiff_t y_step = direction * y.strides[axis];
  ParallelForWork(call.parallel, rows, count, [&](int begin, int end) {
    for (int row = begin; row < end; ++row) {
      const T* from = x.As<const T>() + OffsetWithout(axis, row, x) + first * x.strides[axis];
      T* to = y.As<T>() + OffsetWithout(axis, row, y) + first * y.strides[axis];
      Sum sum = 0;
      for (int i = 0; i < count; ++i) {  // reads an element before it writes it: works in place
        const auto value = static_cast<Sum>(from[i * x_step]);
        to[i * y_step] = static_cast<T>(exclusive ? sum : sum + value);
        sum += value;
      }
    }
  });
}

}  // namespace

Status CumSumRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  switch (call.op.Input(0).dtype) {
    case DType::kF64:
      CumSum<double>(call);
      break;
    case DType::kI32:
      CumSum<int32_t, uint32_t>(call);
      break;
    case DType::kI64:
      CumSum<int64_t, uint64_t>(call);
      break;
    default:
      CumSum<float>(call);
      break;
  }
  return OkStatus();
}

}  // namespace tenon::cpu::portable

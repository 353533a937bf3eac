#include <cmath>
#include <cstddef>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/math.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

float Exponential(float x) { return math::Exp(x); }
double Exponential(double x) { return std::exp(x); }
float Logarithm(float x) { return math::Log(x); }
double Logarithm(double x) { return std::log(x); }

/// The largest element; where there is a NaN, it or a number: the sum will be NaN in either case.
template <typename T>
T LargestOf(const T* x, ptrdiff_t stride, int count) {
  T largest = x[0];
  for (int i = 1; i < count; ++i) largest = x[i * stride] > largest ? x[i * stride] : largest;
  return largest;
}

template <typename T>
void SoftmaxRow(const T* x, ptrdiff_t x_stride, T* y, ptrdiff_t y_stride, int count) {
  // Less the maximum, so that no exponential overflows and the largest is exactly 1.
  const T largest = LargestOf(x, x_stride, count);
  if (x_stride == 1 && y_stride == 1) {
    for (int i = 0; i < count; ++i) y[i] = Exponential(x[i] - largest);
  } else {
    for (int i = 0; i < count; ++i) y[i * y_stride] = Exponential(x[i * x_stride] - largest);
  }
  T sum = 0;
  for (int i = 0; i < count; ++i) sum += y[i * y_stride];
  const T scale = 1 / sum;
  for (int i = 0; i < count; ++i) y[i * y_stride] *= scale;
}

template <typename T>
void LogSoftmaxRow(const T* x, ptrdiff_t x_stride, T* y, ptrdiff_t y_stride, int count) {
  const T largest = LargestOf(x, x_stride, count);
  T sum = 0;
  for (int i = 0; i < count; ++i) sum += Exponential(x[i * x_stride] - largest);
  const T log_sum = Logarithm(sum);
  for (int i = 0; i < count; ++i) y[i * y_stride] = (x[i * x_stride] - largest) - log_sum;
}

template <typename T>
void Softmax(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<SoftmaxAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  const int axis = attributes.axis;
  const int count = x.dims[axis];
  const auto rows = static_cast<int>(x.Elements() / count);
  const auto row_function = attributes.log != 0 ? LogSoftmaxRow<T> : SoftmaxRow<T>;
  ParallelForWork(call.parallel, rows, int64_t{8} * count, [&](int begin, int end) {
    for (int row = begin; row < end; ++row) {
      row_function(x.As<const T>() + OffsetWithout(axis, row, x), x.strides[axis],
                   y.As<T>() + OffsetWithout(axis, row, y), y.strides[axis], count);
    }
  });
}

}  // namespace

Status SoftmaxRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  if (call.op.Input(0).dtype == DType::kF64) {
    Softmax<double>(call);
  } else {
    Softmax<float>(call);
  }
  return OkStatus();
}

}  // namespace tenon::cpu::portable

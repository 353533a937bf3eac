#include <cmath>
#include <cstddef>

#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/math.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

using In = AttentionInput;

float Exponential(float x) { return math::Exp(x); }
double Exponential(double x) { return std::exp(x); }

/// One matrix of an operand, or null.
template <typename T>
struct Matrix {
  T* data;
  ptrdiff_t row_step;
  ptrdiff_t column_step;
  [[nodiscard]] T* Row(int row) const { return data + row * row_step; }
};

template <typename T>
Matrix<T> MatrixOf(const TensorView& operand, const TensorView& y, int batch) {
  return {operand.As<T>() + BatchOffset(batch, y, operand), BroadcastStride(operand, 2, 0),
          BroadcastStride(operand, 2, 1)};
}

template <typename T>
struct Attention {
  Matrix<const T> q, k, v, mask;
  Matrix<T> y;
  int depth, keys, columns;
  T scale;

  [[nodiscard]] T Score(int query, int key) const {
    const T* a = q.Row(query);
    const T* b = k.Row(key);
    T sum = 0;
    for (int i = 0; i < depth; ++i) sum += a[i * q.column_step] * b[i * k.column_step];
    sum *= scale;
    return mask.data == nullptr ? sum : sum + mask.Row(query)[key * mask.column_step];
  }

  /// Computes each score twice, for there is no memory to keep a row of them.
  void Run(int query) const {
    T* to = y.Row(query);
    for (int c = 0; c < columns; ++c) to[c * y.column_step] = 0;
    T largest = Score(query, 0);
    for (int key = 1; key < keys; ++key) {
      const T score = Score(query, key);
      largest = score > largest ? score : largest;
    }
    T sum = 0;
    for (int key = 0; key < keys; ++key) {
      const T weight = Exponential(Score(query, key) - largest);
      const T* values = v.Row(key);
      for (int c = 0; c < columns; ++c) to[c * y.column_step] += weight * values[c * v.column_step];
      sum += weight;
    }
    const T factor = 1 / sum;
    for (int c = 0; c < columns; ++c) to[c * y.column_step] *= factor;
  }
};

template <typename T>
Attention<T> AttentionOf(const OpCall& op, int batch) {
  const auto& attributes = op.AttributesAs<AttentionAttributes>();
  const TensorView& y = op.Output();
  const TensorView& v = op.Input(In::kV);
  Attention<T> attention = {};
  attention.q = MatrixOf<const T>(op.Input(In::kQ), y, batch);
  attention.k = MatrixOf<const T>(op.Input(In::kK), y, batch);
  if (attributes.transpose_k != 0) {
    const ptrdiff_t row_step = attention.k.row_step;
    attention.k.row_step = attention.k.column_step;
    attention.k.column_step = row_step;
  }
  attention.v = MatrixOf<const T>(v, y, batch);
  if (op.HasInput(In::kMask)) attention.mask = MatrixOf<const T>(op.Input(In::kMask), y, batch);
  attention.y = MatrixOf<T>(y, y, batch);
  attention.depth = op.Input(In::kQ).dims[y.rank - 1];
  attention.keys = v.dims[v.rank - 2];
  attention.columns = v.dims[v.rank - 1];
  attention.scale = static_cast<T>(attributes.scale);
  return attention;
}

template <typename T>
void RunAttention(const KernelCall& call) {
  const TensorView& y = call.op.Output();
  const int queries = y.dims[y.rank - 2];
  const Attention<T> first = AttentionOf<T>(call.op, 0);
  const int64_t work = int64_t{first.keys} * (2 * first.depth + first.columns);
  const auto rows = static_cast<int>(y.Elements() / first.columns);
  ParallelForWork(call.parallel, rows, work, [&](int begin, int end) {
    for (int row = begin; row < end; ++row) {
      AttentionOf<T>(call.op, row / queries).Run(row % queries);
    }
  });
}

}  // namespace

Status AttentionRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  if (call.op.Input(In::kQ).dtype == DType::kF64) {
    RunAttention<double>(call);
  } else {
    RunAttention<float>(call);
  }
  return OkStatus();
}

}  // namespace tenon::cpu::portable

#include <cmath>
#include <cstddef>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::portable {
namespace {

using In = LayerNormInput;

template <typename T>
struct Row {
  const T* values;
  ptrdiff_t step;
  T operator[](int i) const { return values[i * step]; }
};

template <typename T>
Row<T> ParameterOf(const OpCall& op, int input) {
  return {op.Input(input).As<const T>(), op.Input(input).strides[0]};
}

/// Adds in eight sums, since one would lose digits of long rows.
template <typename T, typename Term>
T MeanOf(int count, const Term& term) {
  T sums[8] = {};
  for (int i = 0; i < count; ++i) sums[i % 8] += term(i);
  const T sum =
      ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  return sum / static_cast<T>(count);
}

/// One row of a call: elements T, parameters P.
template <typename T, typename P>
struct NormalisedRow {
  int count;
  Row<T> from;
  T* to;
  ptrdiff_t step;  ///< of `to`
  Row<P> scale;
  Row<P> bias;  ///< null values: none
};

/// Calls `normalise(row)` for every row.
template <typename T, typename P, typename Normalise>
void ForEachRow(const KernelCall& call, const Normalise& normalise) {
  const OpCall& op = call.op;
  const TensorView& x = op.Input(In::kX);
  const TensorView& y = op.Output();
  const int axis = x.rank - 1;
  NormalisedRow<T, P> whole = {};
  whole.count = x.dims[axis];
  whole.step = y.strides[axis];
  whole.scale = ParameterOf<P>(op, In::kScale);
  if (op.HasInput(In::kBias)) whole.bias = ParameterOf<P>(op, In::kBias);
  const auto rows = static_cast<int>(x.Elements() / whole.count);
  ParallelForWork(call.parallel, rows, int64_t{8} * whole.count, [&](int begin, int end) {
    NormalisedRow<T, P> row = whole;
    for (int i = begin; i < end; ++i) {
      row.from = {x.As<const T>() + OffsetWithout(axis, i, x), x.strides[axis]};
      row.to = y.As<T>() + OffsetWithout(axis, i, y);
      normalise(row);
    }
  });
}

template <typename T>
void LayerNorm(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<LayerNormAttributes>();
  ForEachRow<T, T>(call, [&](const NormalisedRow<T, T>& row) {
    const Row<T>& from = row.from;
    const T mean =
        attributes.rms != 0 ? T{0} : MeanOf<T>(row.count, [&](int i) { return from[i]; });
    const T variance =
        MeanOf<T>(row.count, [&](int i) { return (from[i] - mean) * (from[i] - mean); });
    const T factor = 1 / std::sqrt(variance + static_cast<T>(attributes.epsilon));
    for (int i = 0; i < row.count; ++i) {
      const T value = (from[i] - mean) * factor * row.scale[i];
      row.to[i * row.step] = row.bias.values != nullptr ? value + row.bias[i] : value;
    }
  });
}

/// What is subtracted from a row's bytes, as i8, and what the differences are multiplied by. Sums
/// are exact, so that every kernel finds the same two numbers.
struct ByteStatistics {
  float mean;
  float factor;
};

ByteStatistics StatisticsOf(const Row<uint8_t>& row, int count, int32_t flip_to_i8,
                            const LayerNormAttributes& attributes) {
  int64_t sum = 0;
  int64_t squares = 0;
  for (int i = 0; i < count; ++i) {
    const int32_t value = static_cast<int8_t>(row[i] ^ flip_to_i8);
    sum += value;
    squares += value * value;
  }
  if (attributes.rms != 0) sum = 0;
  const auto elements = static_cast<float>(count);
  const auto spread = static_cast<float>(count * squares - sum * sum);
  return {static_cast<float>(sum) / elements,
          1.0F / std::sqrt(spread / (elements * elements) + attributes.epsilon)};
}

void LayerNormOfBytes(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<LayerNormAttributes>();
  const bool is_u8 = call.op.Output().dtype == DType::kU8;
  const int32_t flip_to_i8 = is_u8 ? 0x80 : 0;
  const float least = is_u8 ? 0.0F : -128.0F;
  const float most = is_u8 ? 255.0F : 127.0F;
  ForEachRow<uint8_t, float>(call, [&](const NormalisedRow<uint8_t, float>& row) {
    const ByteStatistics statistics = StatisticsOf(row.from, row.count, flip_to_i8, attributes);
    for (int i = 0; i < row.count; ++i) {
      const auto value = static_cast<float>(static_cast<int8_t>(row.from[i] ^ flip_to_i8));
      const float normal = (value - statistics.mean) * statistics.factor * row.scale[i];
      const float result = row.bias.values != nullptr ? normal + row.bias[i] : normal;
      const float above = result > least ? result : least;  // NaN becomes the least
      row.to[i * row.step] = static_cast<uint8_t>(RoundHalfEven(above < most ? above : most));
    }
  });
}

}  // namespace

Status LayerNormRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  const DType dtype = call.op.Input(0).dtype;
  if (dtype == DType::kI8 || dtype == DType::kU8) {
    LayerNormOfBytes(call);
  } else if (dtype == DType::kF64) {
    LayerNorm<double>(call);
  } else {
    LayerNorm<float>(call);
  }
  return OkStatus();
}

}  // namespace tenon::cpu::portable

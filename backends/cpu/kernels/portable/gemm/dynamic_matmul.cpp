#include <cstddef>

#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/dynamic_range.hpp"

namespace tenon::cpu::portable {
namespace {

using In = DynamicMatMulInput;

constexpr int kColumns = 32;  ///< whose sums are taken at once

/// Element `index` of bytes that one or each column has.
int32_t ByteOf(const TensorView& view, ptrdiff_t offset) {
  return view.dtype == DType::kI8 ? view.As<const int8_t>()[offset]
                                  : view.As<const uint8_t>()[offset];
}

/// One run.
class Product {
 public:
  explicit Product(const OpCall& op)
      : op_(op), a_(op.Input(In::kX)), b_(op.Input(In::kWeights)), y_(op.Output()) {
    rows_ = y_.dims[y_.rank - 2];
    columns_ = y_.dims[y_.rank - 1];
    depth_ = b_.dims[0];
  }

  void Run(const ParallelRunner* parallel) {
    if (y_.Elements() == 0) return;
    const auto rows = static_cast<int>(y_.Elements() / columns_);
    range_ = RangeOfRows(rows);
    const int64_t work = int64_t{columns_} * depth_;
    ParallelForWork(parallel, rows, work, [&](int begin, int end) {
      for (int row = begin; row < end; ++row) {
        for (int first = 0; first < columns_; first += kColumns) RunPiece(row, first);
      }
    });
  }

 private:
  /// The offset of a row of the output, or of what an operand has in its place.
  [[nodiscard]] ptrdiff_t RowOffset(int row, const TensorView& operand) const {
    return BatchOffset(row / rows_, y_, operand) +
           static_cast<ptrdiff_t>(row % rows_) * BroadcastStride(operand, y_.rank, y_.rank - 2);
  }

  [[nodiscard]] DynamicRange RangeOfRows(int rows) const {
    float least = 0.0F;
    float most = 0.0F;
    const ptrdiff_t step = a_.strides[a_.rank - 1];
    for (int row = 0; row < rows; ++row) {
      const float* x = a_.As<const float>() + RowOffset(row, a_);
      for (int k = 0; k < depth_; ++k, x += step) {
        least = *x < least ? *x : least;
        most = *x > most ? *x : most;
      }
    }
    return DynamicRangeOf(least, most);
  }

  /// Returns what one or each column has at input `index`.
  [[nodiscard]] ptrdiff_t At(int index, int column) const {
    const TensorView& view = op_.Input(index);
    return view.dims[0] == 1 ? 0 : static_cast<ptrdiff_t>(column) * view.strides[0];
  }

  void RunPiece(int row, int first) const {
    const int count = columns_ - first < kColumns ? columns_ - first : kColumns;
    uint32_t sums[kColumns] = {};  // they wrap
    int32_t zeros[kColumns] = {};
    if (op_.HasInput(In::kWeightsZeroPoint)) {
      for (int i = 0; i < count; ++i) {
        zeros[i] = ByteOf(op_.Input(In::kWeightsZeroPoint), At(In::kWeightsZeroPoint, first + i));
      }
    }
    const float* x = a_.As<const float>() + RowOffset(row, a_);
    for (int k = 0; k < depth_; ++k, x += a_.strides[a_.rank - 1]) {
      const int32_t value = QuantizeByRange(*x, range_) - range_.zero_point;
      const ptrdiff_t weights = static_cast<ptrdiff_t>(k) * b_.strides[0];
      for (int i = 0; i < count; ++i) {
        const int32_t weight =
            ByteOf(b_, weights + static_cast<ptrdiff_t>(first + i) * b_.strides[1]) - zeros[i];
        sums[i] += static_cast<uint32_t>(value * weight);
      }
    }
    for (int i = 0; i < count; ++i) Finish(row, first + i, static_cast<int32_t>(sums[i]));
  }

  void Finish(int row, int column, int32_t sum) const {
    const float scale =
        op_.Input(In::kWeightsScale).As<const float>()[At(In::kWeightsScale, column)];
    float value = static_cast<float>(sum) * (range_.scale * scale);
    if (op_.HasInput(In::kBias)) {
      const TensorView& bias = op_.Input(In::kBias);
      value += bias.As<const float>()[RowOffset(row, bias) +
                                      static_cast<ptrdiff_t>(column) *
                                          BroadcastStride(bias, y_.rank, y_.rank - 1)];
    }
    y_.As<float>()[RowOffset(row, y_) + static_cast<ptrdiff_t>(column) * y_.strides[y_.rank - 1]] =
        value;
  }

  const OpCall& op_;
  const TensorView& a_;
  const TensorView& b_;
  const TensorView& y_;
  int rows_ = 0;
  int columns_ = 0;
  int depth_ = 0;
  DynamicRange range_;
};

}  // namespace

Status DynamicMatMulRun(const KernelCall& call) {
  Product(call.op).Run(call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::portable

// Computes depthwise convolutions with 3x3 windows and few rows of outputs, as patches of one row
// have: each row by itself, four channels at a time. Columns of x, widened, are on the stack: no
// workspace is needed. Factors are looked at when the plan is checked.
#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/depthwise_row_products.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/inputs.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;

class Rows {
 public:
  explicit Rows(const OpCall& op)
      : g_(GeometryOf(op)),
        op_(op),
        output_(op.AttributesAs<QuantizedConvAttributes>().output),
        is_float_(output_.rounding == Rounding::kHalfEven),
        padding_(g_.padding * 0x01010101U) {
    const TensorView& w = op.Input(In::kWeights);
    gemm_.less = WideningOfX(op, false).less;
    gemm_.y_step = g_.y_step[1];
    gemm_.x_back = (g_.strides[1] - kColumnTaps) * kColumnBytes;
    gemm_.x = columns_[0];
    gemm_.w_row = w.strides[2];
    gemm_.w_column = w.strides[3];
    gemm_.zero_point = is_float_ ? output_.zero_point : 2 * output_.zero_point + 1;
  }

  void Run() {
    const int stride = g_.strides[1];
    const int most = DepthwiseRowOutputs(stride);
    for (int image = 0; image < g_.images; ++image) {
      for (int row = 0; row < g_.out_extent[0]; ++row) {
        uint8_t* const y = g_.y + image * g_.y_image + row * g_.y_step[0];
        for (int first = 0; first < g_.out_extent[1]; first += most) {
          const int left = g_.out_extent[1] - first;
          gemm_.outputs = left < most ? left : most;
          gemm_.first_y = y + first * g_.y_step[1];
          SetColumns(g_.x + image * g_.x_image, row * g_.strides[0] - g_.pads[0],
                     first * stride - g_.pads[1], (gemm_.outputs - 1) * stride + kColumnTaps);
          SetConstants();
          MultiplyRow(gemm_, is_float_);
        }
      }
    }
  }

 private:
  static constexpr ptrdiff_t kColumnBytes = kColumnWords * sizeof(uint32_t);

  void SetConstants() {
    gemm_.w = op_.Input(In::kWeights).As<const uint8_t>();
    gemm_.bias = op_.Input(In::kBias).As<const int32_t>();
    gemm_.factors = static_cast<const uint8_t*>(op_.Input(In::kMultiplier).data);
    gemm_.shifts = is_float_ ? nullptr : op_.Input(In::kShift).As<const int8_t>();
    gemm_.quads = g_.channels / kRowChannels;
  }

  /// Says where the columns from `begin` on are, of rows of x from `top` on; some may be outside.
  void SetColumns(const uint8_t* image, int top, int begin, int columns) {
    const int before = begin >= 0 ? 0 : (-begin < columns ? -begin : columns);
    const int room = g_.in_extent[1] - begin;
    const int inside = room < columns ? room : columns;
    gemm_.columns = inside > before ? inside - before : 0;
    gemm_.inside = columns_[before];
    for (int i = 0; i < columns; ++i) {
      if (i >= before && i < before + gemm_.columns) continue;
      for (uint32_t& word : columns_[i]) word = 0;
    }
    for (int i = 0; i < kColumnTaps; ++i) {
      const int at = top + i;
      const bool outside = at < 0 || at >= g_.in_extent[0];
      gemm_.steps[i] = outside ? 0 : g_.x_step[1];
      gemm_.next_rows[i] = outside ? 0 : kRowChannels;
      gemm_.rows[i] = outside ? reinterpret_cast<const uint8_t*>(&padding_)
                              : image + at * g_.x_step[0] + (begin + before) * g_.x_step[1];
    }
  }

  Geometry g_;
  const OpCall& op_;
  const QuantizedOutput& output_;
  bool is_float_;
  uint32_t padding_;  ///< a pixel of x outside it
  RowGemm gemm_;
  uint32_t columns_[kMostRowColumns][kColumnWords];
};

}  // namespace

Status DepthwiseRowCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = DepthwiseRowSupports(op)) {
    return Status(StatusCode::kUnsupported, reason);
  }
  const bool ordered = HasDenseChannels(op.Input(In::kX)) && HasDenseChannels(op.Output()) &&
                       op.Input(In::kWeights).strides[0] == 1;
  TENON_ENSURE(ordered, kUnsupported,
               "the DSP depthwise convolution takes channels and weights with channels last");
  return cortex_m::CheckOperands(op, setup.workspace_bytes, 0);
}

Status DepthwiseRowRun(const KernelCall& call) {
  if (!cortex_m::IsEmpty(call.op.Output())) Rows(call.op).Run();
  return OkStatus();
}

}  // namespace tenon::cpu::dsp

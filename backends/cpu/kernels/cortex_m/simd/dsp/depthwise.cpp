// Quantized depthwise convolution: as many outputs as inputs, each channel by itself.
//
// Channels go through four at a time. Their rows are widened into planes of their own, so that a
// window's inputs are neighbours, which two products at once want; as many rows as a window has
// are kept. A row of y is written when all rows of x that are still needed have been read: so y may
// take over x's memory, place by place.
#include "backends/cpu/caps/cortex_m_dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/depthwise_rows.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/inputs.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/operands.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

constexpr int kPlanes = kDepthwisePlanes;
constexpr int kWZeroPoint = 6;
/// Outputs whose sums lie on the stack; even.
constexpr int kSums = 32;

class Depthwise {
 public:
  Depthwise(const KernelCall& call)
      : op_(call.op),
        g_(ConvGeometryOf(op_)),
        planes_(DepthwisePlanesOf(op_)),
        rescale_(RescaleOf(op_, op_.AttributesAs<QuantizedConvAttributes>().output,
                           int64_t{g_.kernel[0]} * g_.kernel[1])),
        is_simple_(IsSimple(rescale_, g_.outputs)),
        widening_(WideningOfX(op_, is_simple_)),
        is_three_by_three_(g_.kernel[0] == 3 && g_.kernel[1] == 3 && g_.dilations[1] == 1 &&
                           g_.strides[1] <= 2),
        halves_(static_cast<int16_t*>(call.workspace)),
        weights_(halves_ + int64_t{kPlanes} * planes_.rows * planes_.row_halves) {}

  void Run() {
    for (int channel = 0; channel < g_.channels; channel += kPlanes) {
      const int left = g_.channels - channel;
      RunChannels(channel, left < kPlanes ? left : kPlanes);
    }
  }

 private:
  void RunChannels(int channel, int count) {
    for (int i = 0; i < count; ++i) WidenWeights(channel + i, WeightsOf(i));
    for (int image = 0; image < g_.images; ++image) {
      const uint8_t* const x = g_.x + image * g_.x_image + channel;
      uint8_t* const y = g_.y + image * g_.y_image + channel;
      int loaded = -g_.pads[0];  // rows of x before this one lie in the planes, or are not read
      for (int row = 0; row < g_.out[0]; ++row) {
        const int top = row * g_.strides[0] - g_.pads[0];
        if (loaded < top) loaded = top;
        for (; loaded < top + planes_.rows; ++loaded) LoadRow(x, loaded, count);
        for (int i = 0; i < count; ++i) {
          RunRow(channel + i, i, top, y + row * g_.y_step[0] + i);
        }
      }
    }
  }

  [[nodiscard]] int16_t* WeightsOf(int plane) const {
    return weights_ + plane * g_.kernel[0] * g_.kernel[1];
  }

  /// Where row `row` of x, counted from any multiple of all, lies in a plane.
  [[nodiscard]] int16_t* RowOf(int plane, int row) const {
    const int place = (row + g_.pads[0]) % planes_.rows;
    return halves_ + (ptrdiff_t{plane} * planes_.rows + place) * planes_.row_halves;
  }

  void WidenWeights(int channel, int16_t* to) const {
    const TensorView& w = op_.Input(1);
    uint8_t zero_point = 0;
    if (op_.HasInput(kWZeroPoint)) {
      const TensorView& zero_points = op_.Input(kWZeroPoint);
      zero_point = zero_points.As<const uint8_t>()[zero_points.dims[0] > 1 ? channel : 0];
    }
    const Widening widening = WideningOf(w.dtype == DType::kI8, zero_point, false);
    const uint8_t* const from = w.As<const uint8_t>() + ptrdiff_t{channel} * w.strides[0];
    for (int i = 0; i < g_.kernel[0]; ++i) {
      for (int j = 0; j < g_.kernel[1]; ++j) {
        *to++ = Widened(widening, from[i * ptrdiff_t{w.strides[2]} + j * ptrdiff_t{w.strides[3]}]);
      }
    }
  }

  /// Row `row` of x, which may lie outside, of `count` channels.
  void LoadRow(const uint8_t* x, int row, int count) const {
    int16_t* to[kPlanes];
    for (int i = 0; i < kPlanes; ++i) to[i] = RowOf(i, row);
    const int columns = (g_.out[1] - 1) * g_.strides[1] + (g_.kernel[1] - 1) * g_.dilations[1] + 1;
    if (row < 0 || row >= g_.in[0]) {
      for (int i = 0; i < count; ++i) FillZeros(to[i], columns);
      return;
    }
    const int left = -g_.pads[1];
    const int before = left < 0 ? (-left < columns ? -left : columns) : 0;
    const int room = g_.in[1] - left;
    const int end = room < columns ? (room > before ? room : before) : columns;
    const uint8_t* const from = x + row * g_.x_step[0] + (left + before) * g_.x_step[1];
    for (int i = 0; i < count; ++i) {
      FillZeros(to[i], before);
      FillZeros(to[i] + end, columns - end);
      to[i] += before;
    }
    if (count == kPlanes) {
      WidenPlanes(widening_, from, g_.x_step[1], end - before, to);
    } else {
      for (int i = 0; i < count; ++i) {
        for (int j = 0; j < end - before; ++j)
          to[i][j] = Widened(widening_, from[j * g_.x_step[1] + i]);
      }
    }
  }

  static void FillZeros(int16_t* to, int count) {
    for (int i = 0; i < count; ++i) to[i] = 0;
  }

  void RunRow(int channel, int plane, int top, uint8_t* y) const {
    const int16_t* const w = WeightsOf(plane);
    const int32_t bias = rescale_.bias == nullptr ? 0 : rescale_.bias[channel];
    const uint32_t begin = static_cast<uint32_t>(bias) << (is_simple_ ? 1 : 0);
    if (is_three_by_three_) {
      ThreeRows rows;
      rows.bias[0] = rows.bias[1] = begin;
      for (int i = 0; i < 3; ++i) {
        rows.weights[2 * i] = Halves(w[3 * i], w[3 * i + 1]);
        rows.weights[2 * i + 1] = Halves(w[3 * i + 1], w[3 * i + 2]);
        rows.rows[i] = RowOf(plane, top + i * g_.dilations[0]);
      }
      return RunThreeByThree(channel, rows, y);
    }
    uint32_t sums[kSums];
    for (int first = 0; first < g_.out[1]; first += kSums) {
      const int count = g_.out[1] - first < kSums ? g_.out[1] - first : kSums;
      for (int i = 0; i < count; ++i) sums[i] = begin;
      AddWindows(plane, top, first, count, sums);
      Store(channel, sums, count, y + first * g_.y_step[1]);
    }
  }

  void RunThreeByThree(int channel, ThreeRows& rows, uint8_t* y) const {
    const auto run = g_.strides[1] == 1 ? RunThreeRows : RunThreeRowsApart;
    rows.y_step = static_cast<int32_t>(g_.y_step[1]);
    if (is_simple_) {
      rows.finish.Set(rescale_, channel);
      rows.y = y;
      rows.outputs = g_.out[1];
      rows.sums = nullptr;
      return run(rows);
    }
    uint32_t sums[kSums];
    rows.sums = sums;
    for (int first = 0; first < g_.out[1]; first += kSums) {
      rows.outputs = g_.out[1] - first < kSums ? g_.out[1] - first : kSums;
      run(rows);
      Store(channel, sums, rows.outputs, y + first * g_.y_step[1]);
      for (const int16_t*& row : rows.rows) row += kSums * g_.strides[1];
    }
    rows.sums = nullptr;
  }

  void AddWindows(int plane, int top, int first, int count, uint32_t* sums) const {
    const int16_t* w = WeightsOf(plane);
    for (int i = 0; i < g_.kernel[0]; ++i) {
      const int16_t* const row = RowOf(plane, top + i * g_.dilations[0]) + first * g_.strides[1];
      for (int j = 0; j < g_.kernel[1]; ++j) {
        const int32_t weight = *w++;
        const int16_t* x = row + j * g_.dilations[1];
        for (int k = 0; k < count; ++k, x += g_.strides[1]) {
          sums[k] += static_cast<uint32_t>(*x * weight);
        }
      }
    }
  }

  void Store(int channel, const uint32_t* sums, int count, uint8_t* y) const {
    const PairFinish finish = FinishOf(rescale_, channel, channel + 1);
    for (int i = 0; i < count; ++i, y += g_.y_step[1]) {
      StorePair(rescale_, finish, sums + i, is_simple_, y);
    }
  }

  const OpCall& op_;
  ConvGeometry g_;
  DepthwisePlanes planes_;
  Rescale rescale_;
  bool is_simple_;  ///< inputs are doubled
  Widening widening_;
  bool is_three_by_three_;
  int16_t* halves_;   ///< [plane][row][column]
  int16_t* weights_;  ///< [plane][tap]
};

}  // namespace

Status DepthwiseCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = DepthwiseSupports(op)) return Status(StatusCode::kUnsupported, reason);
  TENON_ENSURE(HasDenseChannels(op.Input(0)) && HasDenseChannels(op.Output()), kUnsupported,
               "the DSP convolution takes channels that are neighbours in memory");
  return CheckOperands(op, setup.workspace_bytes, DepthwiseWorkspaceBytes(op, 1));
}

Status DepthwiseRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  Depthwise(call).Run();
  return OkStatus();
}

}  // namespace tenon::cpu::dsp

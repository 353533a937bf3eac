// Quantized convolution of one group.
//
// Pass by pass (caps: ConvBand), the inputs are widened to halves once, with their padding, and
// serve all outputs; the weights are widened once a pass, two outputs at a time, and serve all its
// pixels. So the innermost loop only loads and multiplies.
#include "backends/cpu/caps/cortex_m_dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/band.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/dots.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/finish.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/operands.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/pair_weights.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

constexpr int kW = 1;
constexpr int kWZeroPoint = 6;

StoredWeights WeightsOf(const OpCall& op, const ConvBand& band, bool in_order) {
  const TensorView& w = op.Input(kW);
  StoredWeights weights;
  weights.data = w.As<const uint8_t>();
  weights.channels = w.dims[1];
  weights.padded_channels = band.channels;
  weights.taps = band.run / band.channels;
  weights.runs = band.runs;
  weights.runs_in_row = w.dims[3] / weights.taps;
  weights.steps = band.steps;
  weights.output = w.strides[0];
  weights.channel = w.strides[1];
  weights.row = w.strides[2];
  weights.column = w.strides[3];
  weights.is_signed = w.dtype == DType::kI8;
  weights.in_order = in_order;
  if (op.HasInput(kWZeroPoint)) {
    weights.zero_points = op.Input(kWZeroPoint).As<const uint8_t>();
    weights.zero_point_step = op.Input(kWZeroPoint).dims[0] > 1 ? 1 : 0;
  }
  return weights;
}

/// Bytes from a pixel's first input to each of its runs.
void PlaceRuns(const ConvGeometry& g, const ConvBand& band, int runs_in_row, int32_t* runs) {
  for (int i = 0; i < band.runs; ++i) {
    const int row = i / runs_in_row * g.dilations[0];
    const int column = i % runs_in_row * g.dilations[1];
    runs[i] =
        (row * band.row_halves + column * band.channels) * static_cast<int32_t>(sizeof(int16_t));
  }
}

/// Goes over the pixels of a pass, row by row.
class Cursor {
 public:
  Cursor(const ConvGeometry& g, const ConvBand& band, const Pass& pass, const int16_t* x,
         uint8_t* y)
      : x_(x),
        y_(y),
        columns_(pass.columns),
        left_(pass.columns),
        x_pixel_(band.pixel_step * band.channels),
        x_row_(band.row_step * band.row_halves - pass.columns * x_pixel_),
        y_pixel_(g.y_step[1]),
        y_row_(g.y_step[0] - pass.columns * g.y_step[1]) {}

  [[nodiscard]] const int16_t* x() const { return x_; }
  [[nodiscard]] uint8_t* y() const { return y_; }

  void Next() {
    x_ += x_pixel_;
    y_ += y_pixel_;
    if (--left_ > 0) return;
    left_ = columns_;
    x_ += x_row_;
    y_ += y_row_;
  }

 private:
  const int16_t* x_;
  uint8_t* y_;
  int columns_;
  int left_;
  ptrdiff_t x_pixel_;
  ptrdiff_t x_row_;
  ptrdiff_t y_pixel_;
  ptrdiff_t y_row_;
};

/// Two outputs of all pixels of a pass.
void RunPixels(Cursor cursor, int pixels, const PairFinish& finish, PairDots& dots) {
  for (; pixels > 0; pixels -= 2) {
    uint8_t* const y[2] = {cursor.y(), nullptr};
    dots.x[0] = dots.x[1] = cursor.x();
    cursor.Next();
    for (int i = 0; i < 4; ++i) dots.sums[i] = static_cast<uint32_t>(finish.outputs[i % 2].bias);
    if (pixels == 1) {
      AddPairDots(&dots);
      return StorePair(finish, dots.sums, y[0]);
    }
    dots.x[1] = cursor.x();
    uint8_t* const second = cursor.y();
    cursor.Next();
    AddPairDots(&dots);
    StorePair(finish, dots.sums, y[0]);
    StorePair(finish, dots.sums + 2, second);
  }
}

}  // namespace

Status ConvCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = ConvSupports(op)) return Status(StatusCode::kUnsupported, reason);
  TENON_ENSURE(HasDenseChannels(op.Input(0)) && HasDenseChannels(op.Output()), kUnsupported,
               "the DSP convolution takes channels that are neighbours in memory");
  return CheckOperands(op, setup.workspace_bytes, ConvWorkspaceBytes(op, 1));
}

Status ConvRun(const KernelCall& call) {
  const OpCall& op = call.op;
  if (op.Output().Elements() == 0) return OkStatus();
  const ConvBand band = ConvBandOf(op);
  const ConvGeometry g = ConvGeometryOf(op);
  const TensorView& w = op.Input(kW);
  const bool in_order = w.dims[1] % kStepInputs != 0;
  const Widening widening = WideningOfX(op, in_order);
  const StoredWeights weights = WeightsOf(op, band, in_order);
  const Rescale rescale =
      RescaleOf(op, op.AttributesAs<QuantizedConvAttributes>().output, w.Elements() / w.dims[0]);
  auto* const x_halves = static_cast<int16_t*>(call.workspace);
  auto* const w_halves = x_halves + band.x_bytes / sizeof(int16_t);
  for (size_t i = 0; i < band.w_bytes / sizeof(int16_t); ++i) w_halves[i] = 0;
  int32_t runs[kMostRuns];
  PlaceRuns(g, band, weights.runs_in_row, runs);
  PairDots dots = {{}, {}, w_halves, runs, band.runs, band.steps};

  for (int image = 0; image < g.images; ++image) {
    for (int column = 0; column < g.out[1]; column += band.columns) {
      for (int row = 0; row < g.out[0]; row += band.rows) {
        const Pass pass = {row, column, g.out[0] - row < band.rows ? g.out[0] - row : band.rows,
                           g.out[1] - column < band.columns ? g.out[1] - column : band.columns};
        LoadBand(g, band, widening, g.x + image * g.x_image, pass, row > 0, x_halves);
        uint8_t* const y = g.y + image * g.y_image + row * g.y_step[0] + column * g.y_step[1];
        for (int output = 0; output < g.outputs; output += 2) {
          const PairFinish finish = FinishOf(rescale, output, g.outputs);
          WidenPair(weights, output, finish.is_pair ? 2 : 1, w_halves);
          RunPixels(Cursor(g, band, pass, x_halves, y + output), pass.rows * pass.columns, finish,
                    dots);
        }
      }
    }
  }
  return OkStatus();
}

}  // namespace tenon::cpu::dsp

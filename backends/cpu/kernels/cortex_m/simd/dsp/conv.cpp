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

/// See PairProduct.
void PlaceRuns(const ConvGeometry& g, const ConvBand& band, int runs_in_row, int32_t* gaps) {
  int32_t end = 0;
  for (int i = 0; i < band.runs; ++i) {
    const int row = i / runs_in_row * g.dilations[0];
    const int column = i % runs_in_row * g.dilations[1];
    const int32_t begin = row * band.row_halves + column * band.channels;
    gaps[i] = (begin - end) * static_cast<int32_t>(sizeof(int16_t));
    end = begin + band.steps * kStepInputs;
  }
}

/// The pixels of a pass, of which the last stands there twice if their number is odd.
struct Pixels {
  uint8_t* y[kMostPassPixels];
  const int16_t* x[kMostPassPixels];
  int count;

  void Add(const int16_t* from, uint8_t* to) {
    x[count] = from;
    y[count++] = to;
  }
};

void ListPixels(const ConvGeometry& g, const ConvBand& band, const Pass& pass, const int16_t* x,
                uint8_t* y, Pixels& pixels) {
  pixels.count = 0;
  for (int row = 0; row < pass.rows; ++row) {
    const int16_t* from = x + ptrdiff_t{row} * band.row_step * band.row_halves;
    uint8_t* to = y + row * g.y_step[0];
    for (int column = 0; column < pass.columns; ++column) {
      pixels.Add(from, to);
      from += ptrdiff_t{band.pixel_step} * band.channels;
      to += g.y_step[1];
    }
  }
  if (pixels.count % 2 != 0) pixels.Add(pixels.x[pixels.count - 1], pixels.y[pixels.count - 1]);
}

/// Two outputs, or the last, of the product's pixels.
void RunOutputs(const Rescale& rescale, bool is_simple, const PairFinish& finish,
                PairProduct& product) {
  for (int i = 0; i < 2; ++i) {
    const auto bias = static_cast<uint32_t>(finish.bias[i]);
    product.bias[i] = product.bias[2 + i] = is_simple ? bias * 2 : bias;
    product.finish[i] = finish.outputs[i];
  }
  if (is_simple && finish.is_pair) {
    product.sums = nullptr;
    return MultiplyPairs(product);
  }
  uint32_t sums[2 * kMostPassPixels];
  product.sums = sums;
  MultiplyPairs(product);
  uint32_t* next = sums;
  for (uint8_t* const* y = product.y; y < product.y_end; y += 2, next += 4) {
    for (int pixel = 1; pixel >= 0; --pixel) {
      StorePair(rescale, finish, next + 2 * pixel, is_simple, y[pixel] + product.output);
    }
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
  const Rescale rescale =
      RescaleOf(op, op.AttributesAs<QuantizedConvAttributes>().output, w.Elements() / w.dims[0]);
  const bool is_simple = IsSimple(rescale, g.outputs);
  const Widening widening = WideningOfX(op, in_order, is_simple);
  const StoredWeights weights = WeightsOf(op, band, in_order);
  auto* const x_halves = static_cast<int16_t*>(call.workspace);
  auto* const w_halves = x_halves + band.x_bytes / sizeof(int16_t);
  const size_t w_count = band.w_bytes / sizeof(int16_t);
  for (size_t i = 0; i < w_count; ++i) w_halves[i] = 0;
  int32_t gaps[kMostRuns];
  Pixels pixels;
  PairProduct product = {};
  product.w = w_halves;
  product.w_end = w_halves + w_count;
  product.y = pixels.y;
  product.steps = band.steps;
  if (band.is_paired) {
    product.x_paired = x_halves;
  } else {
    PlaceRuns(g, band, weights.runs_in_row, gaps);
    product.x_runs = pixels.x;
    product.gaps = gaps;
  }

  for (int image = 0; image < g.images; ++image) {
    for (int column = 0; column < g.out[1]; column += band.columns) {
      for (int row = 0; row < g.out[0]; row += band.rows) {
        const Pass pass = {row, column, g.out[0] - row < band.rows ? g.out[0] - row : band.rows,
                           g.out[1] - column < band.columns ? g.out[1] - column : band.columns};
        LoadBand(g, band, widening, g.x + image * g.x_image, pass, row > 0, x_halves);
        ListPixels(g, band, pass, x_halves,
                   g.y + image * g.y_image + row * g.y_step[0] + column * g.y_step[1], pixels);
        product.y_end = pixels.y + pixels.count;
        for (product.output = 0; product.output < g.outputs; product.output += 2) {
          const PairFinish finish = FinishOf(rescale, product.output, g.outputs);
          WidenPair(weights, product.output, finish.is_pair ? 2 : 1, w_halves);
          RunOutputs(rescale, is_simple, finish, product);
        }
      }
    }
  }
  return OkStatus();
}

}  // namespace tenon::cpu::dsp

// Computes quantized convolutions of one group.
//
// In each pass (caps: ConvBand) the inputs are widened to halves once, with their padding, for all
// outputs; the weights are widened once a pass, two outputs at a time, for all its pixels. So the
// innermost loop only loads and multiplies.
//
// Where so few pixels fit into a pass that the weights are widened again and again, a pointwise
// convolution inverts the loops: it computes four outputs at a time over all pixels, which it reads
// unwidened.
#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/inputs.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/outputs.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/quads.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;

/// Gives the bytes between the runs of a pixel's inputs; PairGemm says what a run is.
void PlaceRuns(const Geometry& g, const ConvBand& band, int32_t* gaps) {
  const int runs_in_row = band.runs / g.kernel[0];
  int32_t end = 0;
  for (int i = 0; i < band.runs; ++i) {
    const int row = i / runs_in_row * g.dilations[0];
    const int column = i % runs_in_row * g.dilations[1];
    const int32_t begin = row * band.row_halves + column * g.channels;
    gaps[i] = (begin - end) * static_cast<int32_t>(sizeof(int16_t));
    end = begin + band.steps * kStepInputs;
  }
}

/// Where the pixels of a pass lie, of which the last stands there twice if their number is odd: of
/// x in the workspace, of y in bytes from the first.
struct Pixels {
  const int16_t* x[kMostPassPixels];
  PairPlaces y[kMostPassPixels / 2];
  int count = 0;
  int rows = 0;
  int columns = 0;

  void Add(const int16_t* from, ptrdiff_t to) {
    x[count] = from;
    y[count / 2].y[count % 2] = static_cast<int32_t>(to);
    y[count / 2].more = 1;
    ++count;
  }
};

void ListPixels(const Geometry& g, const ConvBand& band, const Pass& pass, const int16_t* x,
                Pixels& pixels) {
  if (pixels.rows == pass.rows && pixels.columns == pass.columns) return;
  pixels.rows = pass.rows;
  pixels.columns = pass.columns;
  pixels.count = 0;
  const int16_t* from = x;
  ptrdiff_t to = 0;
  for (int row = 0; row < pass.rows; ++row) {
    from = x + ptrdiff_t{row} * g.strides[0] * band.row_halves;
    to = row * g.y_step[0];
    for (int column = 0; column < pass.columns; ++column) {
      pixels.Add(from, to);
      from += ptrdiff_t{g.strides[1]} * g.channels;
      to += g.y_step[1];
    }
  }
  if (pixels.count % 2 != 0) {
    pixels.Add(pixels.x[pixels.count - 1], pixels.y[pixels.count / 2].y[0]);
  }
  pixels.y[pixels.count / 2 - 1].more = 0;
}

Pass PassAt(const Geometry& g, const ConvBand& band, int row, int column) {
  const int rows = g.out_extent[0] - row;
  const int columns = g.out_extent[1] - column;
  return {row, column, rows < band.rows ? rows : band.rows,
          columns < band.columns ? columns : band.columns};
}

size_t QuadBytes(const Outputs& outputs) {
  return static_cast<size_t>(outputs.depth) * (kQuadOutputs * sizeof(int16_t));
}

/// True if MultiplyQuads takes this convolution, and widening the pixels for each four outputs
/// costs less than widening the weights for each pass.
bool IsQuadwise(const Geometry& g, const ConvBand& band, const Outputs& outputs,
                const Widening& widening, size_t workspace_bytes, bool copies) {
  if (band.mode != ConvMode::kPixels || band.steps < 1 || widening.flip != 0) return false;
  if (!outputs.IsSimple() || outputs.count % kQuadOutputs != 0) return false;
  const int64_t pixels = int64_t{g.images} * g.out_extent[0] * g.out_extent[1];
  const int64_t room =
      static_cast<int64_t>(workspace_bytes) - static_cast<int64_t>(QuadBytes(outputs));
  if (room < (copies ? pixels * g.channels : 0)) return false;
  const int of_rows = (g.out_extent[0] - 1) / band.rows + 1;
  const int of_columns = (g.out_extent[1] - 1) / band.columns + 1;
  return QuadsPay(pixels, int64_t{g.images} * of_rows * of_columns, band.steps);
}

/// Serves convolutions that satisfy IsQuadwise. `w` is a buffer for the weights of four outputs.
void RunQuads(const Geometry& g, const Outputs& outputs, const Widening& widening, int16_t* w) {
  QuadGemm gemm = {};
  gemm.w = w;
  gemm.less = widening.less;
  gemm.steps = outputs.depth / kStepInputs;
  gemm.kind = outputs.kind;
  gemm.y_step = g.y_step[1];
  gemm.x_gap = g.x_step[1] * g.strides[1] - outputs.depth;
  const Rescale rescale = outputs.rescale;
  for (int first = 0; first < outputs.count; first += kQuadOutputs) {
    WidenQuads(outputs.w + ptrdiff_t{first} * outputs.depth, outputs.depth, gemm.steps, w);
    for (int i = 0; i < kQuadOutputs; ++i) {
      gemm.bias[i] = rescale.bias == nullptr ? 0 : static_cast<uint32_t>(rescale.bias[first + i]);
      gemm.requantizer[i].Set(rescale, first + i);
    }
    for (int image = 0; image < g.images; ++image) {
      gemm.x = g.x + image * g.x_image;
      uint8_t* y = g.y + image * g.y_image + first;
      for (int row = 0; row < g.out_extent[0]; ++row) {
        gemm.y = y;
        gemm.count = g.out_extent[1];
        MultiplyQuads(gemm);
        gemm.x += g.strides[0] * g.x_step[0];
        y += g.y_step[0];
      }
    }
  }
}

}  // namespace

Status ConvCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = ConvSupports(op)) return Status(StatusCode::kUnsupported, reason);
  TENON_ENSURE(HasDenseChannels(op.Input(In::kX)) && HasDenseChannels(op.Output()) &&
                   op.Input(In::kWeights).IsChannelsLast(),
               kUnsupported, "the DSP convolution takes channels that are neighbours in memory");
  return cortex_m::CheckOperands(op, setup.workspace_bytes, ConvLeastWorkspaceBytes(op));
}

Status ConvRun(const KernelCall& call) { return RunConv(call, nullptr); }

Status RunConv(const KernelCall& call, CopyInputs* copy) {
  const OpCall& op = call.op;
  if (cortex_m::IsEmpty(op.Output())) return OkStatus();
  ConvBand band = ConvBandOf(op, call.workspace_bytes);
  Geometry g = GeometryOf(op);
  JoinPixels(op, g);
  if (g.is_one_row) {
    band.rows = 1;
    band.columns = band.pixels;
  }
  auto* const x_halves = static_cast<int16_t*>(call.workspace);
  int16_t* const w_halves = x_halves + band.x_bytes / sizeof(int16_t);
  auto* const bytes = reinterpret_cast<uint8_t*>(w_halves) + band.w_bytes;

  const TensorView& w = op.Input(In::kWeights);
  const Outputs outputs = OutputsOf(op, op.AttributesAs<QuantizedConvAttributes>().output,
                                    g.outputs, static_cast<int>(w.Elements() / g.outputs));
  Widening widening = WideningOfX(op, false);
  if (IsQuadwise(g, band, outputs, widening, call.workspace_bytes, copy != nullptr)) {
    if (copy != nullptr) copy(g, static_cast<uint8_t*>(call.workspace) + QuadBytes(outputs));
    RunQuads(g, outputs, widening, x_halves);
    return OkStatus();
  }
  widening.doubled = outputs.doubles_inputs;
  int32_t gaps[kMostRuns];
  Pixels pixels;
  PairGemm gemm = {};
  gemm.w = w_halves;
  gemm.w_end = w_halves + band.w_bytes / sizeof(int16_t);
  gemm.y = pixels.y;
  gemm.steps = band.steps;
  if (band.mode == ConvMode::kRows) {
    PlaceRuns(g, band, gaps);
    gemm.x_runs = pixels.x;
    gemm.gaps = gaps;
  } else {
    gemm.x_paired = x_halves;
  }

  for (int image = 0; image < g.images; ++image) {
    const uint8_t* const x = g.x + image * g.x_image;
    for (int column = 0; column < g.out_extent[1]; column += band.columns) {
      for (int row = 0; row < g.out_extent[0]; row += band.rows) {
        const Pass pass = PassAt(g, band, row, column);
        switch (band.mode) {
          case ConvMode::kPixels:
            LoadPixels(g, band, widening, x, pass, x_halves);
            break;
          case ConvMode::kWindows:
            LoadWindows(g, band, widening, x, pass, bytes, x_halves);
            break;
          case ConvMode::kRows:
            LoadRows(g, band, widening, x, pass, row > 0, x_halves);
            break;
        }
        ListPixels(g, band, pass, x_halves, pixels);
        gemm.output = g.y + image * g.y_image + row * g.y_step[0] + column * g.y_step[1];
        RunOutputs(outputs, pixels.count, w_halves, bytes, gemm);
      }
    }
  }
  return OkStatus();
}

}  // namespace tenon::cpu::dsp

#include "backends/cpu/kernels/cortex_m/simd/dsp/band.hpp"

#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

void FillZeros(int16_t* to, ptrdiff_t count) {
  for (; count >= 2; count -= 2, to += 2) StoreWord(to, 0);
  if (count > 0) *to = 0;
}

/// To lower addresses; words, since small C libraries move bytes.
void MoveDown(int16_t* to, const int16_t* from, ptrdiff_t count) {
  for (; count > 0; count -= 2, to += 2, from += 2) StoreWord(to, LoadWord(from));
}

/// Widens `pixels` pixels that are `step` bytes apart.
void WidenPixels(const ConvGeometry& g, const ConvBand& band, const Widening& widening,
                 const uint8_t* from, ptrdiff_t step, int pixels, int16_t* to) {
  if (step == g.channels && band.channels == g.channels) {
    return Widen(widening, from, pixels * g.channels, to, 4);
  }
  for (int i = 0; i < pixels; ++i, from += step, to += band.channels) {
    Widen(widening, from, g.channels, to, 4);
    if (band.channels > g.channels) to[g.channels] = 0;
  }
}

/// A row of `columns` pixels from column `left` on, which may lie outside.
void LoadRow(const ConvGeometry& g, const ConvBand& band, const Widening& widening,
             const uint8_t* row, int left, int columns, int16_t* to) {
  const int step = g.strides[1] / band.pixel_step;  // 1, or there is no padding
  const int before = left < 0 ? (-left < columns ? -left : columns) : 0;
  const int room = (g.in[1] - left + step - 1) / step;
  const int end = room < columns ? (room > before ? room : before) : columns;
  FillZeros(to, ptrdiff_t{before} * band.channels);
  if (end > before) {
    WidenPixels(g, band, widening, row + (left + before) * g.x_step[1], g.x_step[1] * step,
                end - before, to + ptrdiff_t{before} * band.channels);
  }
  FillZeros(to + ptrdiff_t{end} * band.channels, band.row_halves - ptrdiff_t{end} * band.channels);
}

/// Of one row of a pointwise convolution: see PairProduct.
void LoadPairs(const ConvGeometry& g, const ConvBand& band, const Widening& widening,
               const uint8_t* image, const Pass& pass, int16_t* to) {
  const ptrdiff_t step = g.x_step[1] * g.strides[1];
  const uint8_t* from = image + pass.row * g.strides[0] * g.x_step[0] + pass.column * step;
  for (int i = 0; i < pass.columns; ++i, from += step) {
    Widen(widening, from, g.channels, to + i % 2 * 4, 8);
    if (i % 2 != 0) to += ptrdiff_t{band.steps} * 8;
  }
}

bool HasEvenPixels(const TensorView& view, ptrdiff_t step) {
  const ptrdiff_t row = step * view.dims[3];
  return (view.dims[2] == 1 || view.strides[2] == row) &&
         (view.dims[0] == 1 || view.strides[0] == row * view.dims[2]);
}

}  // namespace

ConvGeometry ConvGeometryOf(const OpCall& op) {
  const auto& attributes = op.AttributesAs<ConvAttributes>();
  const TensorView& x = op.Input(0);
  const TensorView& w = op.Input(1);
  const TensorView& y = op.Output();
  ConvGeometry g = {};
  g.x = x.As<const uint8_t>();
  g.y = y.As<uint8_t>();
  g.images = x.dims[0];
  g.x_image = x.strides[0];
  g.y_image = y.strides[0];
  for (int i = 0; i < 2; ++i) {
    g.x_step[i] = x.strides[2 + i];
    g.y_step[i] = y.strides[2 + i];
    g.in[i] = x.dims[2 + i];
    g.out[i] = y.dims[2 + i];
    g.kernel[i] = w.dims[2 + i];
    g.strides[i] = attributes.strides[i];
    g.dilations[i] = attributes.dilations[i];
    g.pads[i] = attributes.pads[i];
  }
  g.channels = x.dims[1];
  g.outputs = y.dims[1];
  if (IsPointwise(op) && g.strides[0] == 1 && g.strides[1] == 1 && HasEvenPixels(x, g.x_step[1]) &&
      HasEvenPixels(y, g.y_step[1])) {
    g.in[1] = g.out[1] = g.images * g.out[0] * g.out[1];
    g.in[0] = g.out[0] = g.images = 1;
  }
  return g;
}

void LoadBand(const ConvGeometry& g, const ConvBand& band, const Widening& widening,
              const uint8_t* image, const Pass& pass, bool follows, int16_t* to) {
  if (band.is_paired) return LoadPairs(g, band, widening, image, pass, to);
  const int reach = (g.kernel[0] - 1) * g.dilations[0];
  const int rows = (pass.rows - 1) * band.row_step + reach + 1;
  const int columns = (pass.columns - 1) * band.pixel_step + (g.kernel[1] - 1) * g.dilations[1] + 1;
  int row = 0;
  const int shift = band.rows * band.row_step;
  if (follows && band.in_rows > shift) {
    row = band.in_rows - shift;
    if (row > rows) row = rows;
    MoveDown(to, to + ptrdiff_t{shift} * band.row_halves, ptrdiff_t{row} * band.row_halves);
  }
  const int top = pass.row * g.strides[0] - g.pads[0];
  const int left = pass.column * g.strides[1] - g.pads[1];
  for (; row < rows; ++row) {
    const int at = top + row * (g.strides[0] / band.row_step);
    int16_t* const to_row = to + ptrdiff_t{row} * band.row_halves;
    if (at < 0 || at >= g.in[0]) {
      FillZeros(to_row, band.row_halves);
    } else {
      LoadRow(g, band, widening, image + at * g.x_step[0], left, columns, to_row);
    }
  }
  // What the last run's last step may read beyond the band.
  FillZeros(to + ptrdiff_t{rows} * band.row_halves, 4);
}

}  // namespace tenon::cpu::dsp

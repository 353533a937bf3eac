#include "backends/cpu/kernels/cortex_m/simd/dsp/inputs.hpp"

#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;

constexpr int kStep = 4;  // halves of a step

// Words, since small C libraries copy and set bytes one by one.

void FillZeros(int16_t* to, ptrdiff_t count) {
  for (; count > 0; count -= kStep, to += kStep) StoreTwoWords(to, 0, 0);
}

/// Moves elements to lower addresses.
void MoveDown(int16_t* to, const int16_t* from, ptrdiff_t count) {
  for (; count > 0; count -= kStep, to += kStep, from += kStep) {
    StoreTwoWords(to, LoadWord(from), LoadWord(from + 2));
  }
}

inline __attribute__((always_inline)) uint8_t* CopyRow(uint8_t* to, const uint8_t* from,
                                                       ptrdiff_t count) {
  for (; count >= kStep; count -= kStep, to += kStep, from += kStep) StoreWord(to, LoadWord(from));
  for (; count > 0; --count) *to++ = *from++;
  return to;
}

uint8_t* CopyBytes(uint8_t* to, const uint8_t* from, ptrdiff_t count) {
  return CopyRow(to, from, count);
}

uint8_t* FillBytes(uint8_t* to, uint8_t value, ptrdiff_t count) {
  for (; count >= kStep; count -= kStep, to += kStep) StoreWord(to, value * 0x01010101U);
  for (; count > 0; --count) *to++ = value;
  return to;
}

/// Loads a row of `columns` pixels from column `left` on, which may be outside.
void LoadRow(const Geometry& g, const Widening& widening, const uint8_t* row, int left, int columns,
             int16_t* to) {
  const int before = left < 0 ? (-left < columns ? -left : columns) : 0;
  const int room = g.in_extent[1] - left;
  const int end = room < columns ? (room > before ? room : before) : columns;
  const int words = g.channels / kStep;
  FillZeros(to, ptrdiff_t{before} * g.channels);
  int16_t* pixel = to + ptrdiff_t{before} * g.channels;
  const uint8_t* from = row + (left + before) * g.x_step[1];
  if (end > before && g.x_step[1] == g.channels) {
    Widen(widening, from, words * (end - before), pixel, kStep);
  } else {
    for (int i = before; i < end; ++i, from += g.x_step[1], pixel += g.channels) {
      Widen(widening, from, words, pixel, kStep);
    }
  }
  FillZeros(to + ptrdiff_t{end} * g.channels, ptrdiff_t{columns - end} * g.channels);
}

/// Reads a row of a window of pixels without gaps, some of whose taps are before or after `row` of
/// x.
uint8_t* GatherEdge(const Geometry& g, const uint8_t* row, int left, uint8_t* to) {
  const int taps = g.kernel[1];
  const int before = left >= 0 ? 0 : (-left < taps ? -left : taps);
  const int end = g.in_extent[1] - left < taps ? g.in_extent[1] - left : taps;
  if (before > 0) to = FillBytes(to, g.padding, ptrdiff_t{before} * g.channels);
  if (end > before) {
    const ptrdiff_t bytes = ptrdiff_t{end - before} * g.channels;
    to = CopyBytes(to, row + ptrdiff_t{left + before} * g.channels, bytes);
  }
  const int after = taps - (end > before ? end : before);
  return after > 0 ? FillBytes(to, g.padding, ptrdiff_t{after} * g.channels) : to;
}

/// Windows of pixels without gaps that are wholly inside x, in rows of 4 bytes or more.
struct InsideWindows {
  explicit InsideWindows(const Geometry& g)
      : bytes(ptrdiff_t{g.kernel[1]} * g.channels),
        step(g.dilations[0] * g.x_step[0]),
        rows(static_cast<unsigned>(g.kernel[0])),
        words(static_cast<unsigned>(bytes - 1) / kStep) {
    const bool is_row = g.dilations[1] == 1 && g.x_step[1] == g.channels;
    if (!is_row || bytes < kStep) return;
    const int room = g.in_extent[1] - g.kernel[1] + g.pads[1];  // for a window's first column
    begin = (g.pads[1] + g.strides[1] - 1) / g.strides[1];
    end = room < 0 ? 0 : room / g.strides[1] + 1;
  }

  /// Copies the window at `from`, but for what fills up its last word. Words may overlap, so that
  /// no byte of a row is copied by itself.
  __attribute__((noinline)) void Gather(const uint8_t* from, uint8_t* to) const {
    const ptrdiff_t last = bytes - kStep;
    const ptrdiff_t row_step = step;
    const ptrdiff_t row_bytes = bytes;
    const unsigned row_words = words;
    unsigned left = rows;
    do {
      StoreWord(to + last, LoadWord(from + last));
      const uint8_t* word = from;
      uint8_t* place = to;
      for (unsigned i = row_words; i != 0; --i, word += kStep, place += kStep) {
        StoreWord(place, LoadWord(word));
      }
      from += row_step;
      to += row_bytes;
    } while (--left != 0);
  }

  ptrdiff_t bytes;  ///< of a row
  ptrdiff_t step;
  unsigned rows;
  unsigned words;  ///< of a row, before its last one
  int begin = 0;   ///< columns of outputs that have such windows
  int end = 0;
};

bool HasEvenPixels(const TensorView& view, ptrdiff_t step) {
  const ptrdiff_t row = step * view.dims[3];
  return (view.dims[2] == 1 || view.strides[2] == row) &&
         (view.dims[0] == 1 || view.strides[0] == row * view.dims[2]);
}

}  // namespace

Geometry GeometryOf(const OpCall& op) {
  const TensorView& x = op.Input(In::kX);
  const TensorView& y = op.Output();
  Geometry g = {};
  g.x = x.As<const uint8_t>();
  g.y = y.As<uint8_t>();
  g.images = x.dims[0];
  g.x_image = x.strides[0];
  g.y_image = y.strides[0];
  for (int i = 0; i < 2; ++i) {
    SetConvAxis(op, i, g);
    g.x_step[i] = x.strides[2 + i];
    g.y_step[i] = y.strides[2 + i];
  }
  g.channels = x.dims[1];
  g.outputs = y.dims[1];
  g.padding = static_cast<uint8_t>(cortex_m::ZeroPointOf(op));
  return g;
}

void JoinPixels(const OpCall& op, Geometry& g) {
  if (!IsPointwiseConv(op) || g.strides[0] != 1 || g.strides[1] != 1 ||
      !HasEvenPixels(op.Input(In::kX), g.x_step[1]) || !HasEvenPixels(op.Output(), g.y_step[1])) {
    return;
  }
  g.in_extent[1] = g.out_extent[1] = g.images * g.out_extent[0] * g.out_extent[1];
  g.in_extent[0] = g.out_extent[0] = g.images = 1;
  g.is_one_row = true;
}

void LoadRows(const Geometry& g, const ConvBand& band, const Widening& widening,
              const uint8_t* image, const Pass& pass, bool follows, int16_t* to) {
  const int rows = (pass.rows - 1) * g.strides[0] + (g.kernel[0] - 1) * g.dilations[0] + 1;
  const int columns = (pass.columns - 1) * g.strides[1] + (g.kernel[1] - 1) * g.dilations[1] + 1;
  const ptrdiff_t row_halves = band.row_halves;
  int row = 0;
  const int shift = band.rows * g.strides[0];
  if (follows && band.in_rows > shift) {
    row = band.in_rows - shift;
    if (row > rows) row = rows;
    MoveDown(to, to + shift * row_halves, row * row_halves);
  }
  const int top = pass.row * g.strides[0] - g.pads[0];
  const int left = pass.column * g.strides[1] - g.pads[1];
  for (; row < rows; ++row) {
    const int at = top + row;
    if (at < 0 || at >= g.in_extent[0]) {
      FillZeros(to + row * row_halves, row_halves);
    } else {
      LoadRow(g, widening, image + at * g.x_step[0], left, columns, to + row * row_halves);
    }
  }
}

void LoadPixels(const Geometry& g, const ConvBand& band, const Widening& widening,
                const uint8_t* image, const Pass& pass, int16_t* to) {
  const ptrdiff_t step = g.x_step[1] * g.strides[1];
  const uint8_t* row = image + pass.row * g.strides[0] * g.x_step[0] + pass.column * step;
  for (int i = 0; i < pass.rows; ++i, row += g.strides[0] * g.x_step[0]) {
    WidenPairs(widening, row, step, pass.columns, band.steps, to);
    to += ptrdiff_t{pass.columns} * band.steps * kStep;
  }
}

void GatherWindow(const Geometry& g, const uint8_t* image, int row, int column, uint8_t* to) {
  const int top = row * g.strides[0] - g.pads[0];
  const int left = column * g.strides[1] - g.pads[1];
  const bool is_row = g.dilations[1] == 1 && g.x_step[1] == g.channels;
  const int reach = (g.kernel[1] - 1) * g.dilations[1];
  const bool is_inside = left >= 0 && left + reach < g.in_extent[1];
  for (int i = 0; i < g.kernel[0]; ++i) {
    const int at = top + i * g.dilations[0];
    if (at < 0 || at >= g.in_extent[0]) {
      to = FillBytes(to, g.padding, ptrdiff_t{g.kernel[1]} * g.channels);
      continue;
    }
    const uint8_t* const from = image + at * g.x_step[0];
    if (is_row && is_inside) {
      to = CopyRow(to, from + left * g.x_step[1], ptrdiff_t{g.kernel[1]} * g.channels);
    } else if (is_row) {
      to = GatherEdge(g, from, left, to);
    } else {
      for (int j = 0; j < g.kernel[1]; ++j) {
        const int place = left + j * g.dilations[1];
        to = place < 0 || place >= g.in_extent[1]
                 ? FillBytes(to, g.padding, g.channels)
                 : CopyBytes(to, from + place * g.x_step[1], g.channels);
      }
    }
  }
}

void CopyPixels(Geometry& g, uint8_t* to) {
  const uint8_t* const copy = to;
  for (int image = 0; image < g.images; ++image) {
    for (int row = 0; row < g.out_extent[0]; ++row) {
      const uint8_t* from = g.x + image * g.x_image + row * g.strides[0] * g.x_step[0];
      for (int column = 0; column < g.out_extent[1]; ++column) {
        to = CopyBytes(to, from, g.channels);
        from += g.strides[1] * g.x_step[1];
      }
    }
  }
  g.x = copy;
  g.x_step[1] = g.channels;
  g.x_step[0] = g.x_step[1] * g.out_extent[1];
  g.x_image = g.x_step[0] * g.out_extent[0];
  g.strides[0] = g.strides[1] = 1;
}

void LoadWindows(const Geometry& g, const ConvBand& band, const Widening& widening,
                 const uint8_t* image, const Pass& pass, uint8_t* bytes, int16_t* to) {
  const ptrdiff_t window_bytes = ptrdiff_t{band.steps} * kStep;
  const InsideWindows inside(g);
  const ptrdiff_t depth = inside.bytes * g.kernel[0];
  for (ptrdiff_t i = depth; i < window_bytes; ++i) bytes[i] = bytes[window_bytes + i] = g.padding;
  const ptrdiff_t x_step = g.strides[1] * g.x_step[1];
  int place = 0;
  for (int row = pass.row; row < pass.row + pass.rows; ++row) {
    const int top = row * g.strides[0] - g.pads[0];
    const bool is_inside = top >= 0 && top + (g.kernel[0] - 1) * g.dilations[0] < g.in_extent[0];
    const int begin = is_inside ? inside.begin : INT32_MAX;
    const uint8_t* const line = image + top * g.x_step[0] - g.pads[1] * g.x_step[1];
    for (int column = pass.column; column < pass.column + pass.columns; ++column) {
      uint8_t* const window = bytes + place * window_bytes;
      if (column >= begin && column < inside.end) {
        inside.Gather(line + column * x_step, window);
      } else {
        GatherWindow(g, image, row, column, window);
      }
      if (place == 1) {
        WidenPairs(widening, bytes, window_bytes, 2, band.steps, to);
        to += 2 * window_bytes;
      }
      place ^= 1;
    }
  }
  if (place == 1) WidenPairs(widening, bytes, window_bytes, 1, band.steps, to);
}

}  // namespace tenon::cpu::dsp

#include "backends/cpu/kernels/q8/conv_band.hpp"

#include <cstring>

#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "backends/cpu/kernels/q8/gemm_rows.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::cpu::q8 {
namespace {

/// A band of several output rows stays in the first-level cache, together with the weights.
constexpr int64_t kCachedBandBytes = 14 * 1024;
constexpr int kItemsPerThread = 4;

/// Says how the outputs of an image are cut into bands of `rows` x `columns`.
struct Bands {
  int rows;
  int columns;
  int64_t in_image;  ///< bands
  int64_t in_row;
  int64_t input_row_step;  ///< rows of the input from one copied row to the next
  bool group_items;        ///< each group of channels of a band is an item of work of its own
};

/// Returns the bytes of a copied row, for `columns` outputs.
int64_t RowBytes(const BandConv& conv, int64_t columns) {
  const ConvGeometry& g = conv.geometry;
  return ((columns - 1) * g.strides[1] + int64_t{g.kernel[1] - 1} * g.dilations[1] + 1) * g.inputs;
}

/// Returns the rows of the input that `rows` output rows read.
int64_t CopiedRows(const BandConv& conv, int64_t rows) {
  const ConvGeometry& g = conv.geometry;
  return (rows - 1) * g.strides[0] + g.kernel[0];
}

/// A step may read this far beyond the last tap of fewer channels than it multiplies.
constexpr int64_t kSlack = kDepthStep;

Bands CutIntoBands(const BandConv& conv, int threads) {
  const ConvGeometry& g = conv.geometry;
  Bands bands = {};
  bands.rows = 1;
  bands.columns = g.out_extent[1];
  bands.input_row_step = g.dilations[0];
  const int64_t most_row = (kMostBandBytes - kSlack) / g.kernel[0];
  if (RowBytes(conv, g.out_extent[1]) > most_row) {
    const int64_t room = most_row - RowBytes(conv, 1);
    const int64_t more = room / (int64_t{g.strides[1]} * g.inputs);
    const int64_t columns = 1 + more;
    bands.in_row = CeilDiv<int64_t>(g.out_extent[1], columns);
    bands.columns = static_cast<int>(CeilDiv<int64_t>(g.out_extent[1], bands.in_row));
  } else if (g.dilations[0] == 1 || g.kernel[0] == 1) {
    const int64_t row = RowBytes(conv, g.out_extent[1]);
    int64_t most = g.out_extent[0];
    if (threads > 1) {
      most =
          CeilDiv<int64_t>(int64_t{g.images} * g.out_extent[0], int64_t{threads} * kItemsPerThread);
    }
    const int64_t room = kCachedBandBytes / row - g.kernel[0];
    const int64_t fitting = room > 0 ? 1 + room / g.strides[0] : 1;
    int64_t rows = fitting < most ? fitting : most;
    if (rows > g.out_extent[0]) rows = g.out_extent[0];
    bands.rows = static_cast<int>(
        CeilDiv<int64_t>(g.out_extent[0], CeilDiv<int64_t>(g.out_extent[0], rows)));
    bands.input_row_step = 1;
  }
  bands.in_row = CeilDiv<int64_t>(g.out_extent[1], bands.columns);
  bands.in_image = CeilDiv<int64_t>(g.out_extent[0], bands.rows) * bands.in_row;
  bands.group_items = bands.in_image * g.images < 2 * int64_t{threads} && threads > 1;
  return bands;
}

/// Repeats the zero points of a pixel `pixels` times.
void FillPadding(const BandConv& conv, int64_t pixels, uint8_t* to) {
  const auto channels = static_cast<size_t>(conv.geometry.inputs);
  if (channels == 1) {
    std::memset(to, conv.packed->padding[0], static_cast<size_t>(pixels));
    return;
  }
  for (int64_t i = 0; i < pixels; ++i, to += channels) {
    std::memcpy(to, conv.packed->padding, channels);
  }
}

/// Copies `pixels` pixels of input row `h` of an image from column `left` on.
void CopyRow(const BandConv& conv, const uint8_t* image, int64_t h, int64_t left, int64_t pixels,
             uint8_t* to) {
  const ConvGeometry& g = conv.geometry;
  if (h < 0 || h >= g.in_extent[0] || left >= g.in_extent[1] || left + pixels <= 0) {
    return FillPadding(conv, pixels, to);
  }
  const int64_t before = left < 0 ? -left : 0;
  const int64_t end = left + pixels < g.in_extent[1] ? left + pixels : g.in_extent[1];
  const int64_t inside = end - (left + before);
  FillPadding(conv, before, to);
  to += before * g.inputs;
  const uint8_t* from = image + h * g.x.row + (left + before) * g.x.pixel;
  if (g.x.pixel == g.inputs) {
    std::memcpy(to, from, static_cast<size_t>(inside * g.inputs));
  } else {
    for (int64_t i = 0; i < inside; ++i) {
      std::memcpy(to + i * g.inputs, from + i * g.x.pixel, static_cast<size_t>(g.inputs));
    }
  }
  FillPadding(conv, pixels - before - inside, to + inside * g.inputs);
}

/// Describes outputs [row, row + rows) x [column, column + columns) of an image.
struct Band {
  int64_t image;
  int64_t row;
  int64_t column;
  int rows;
  int columns;
};

Band BandAt(const BandConv& conv, const Bands& bands, int64_t index) {
  const ConvGeometry& g = conv.geometry;
  Band band;
  band.image = index / bands.in_image;
  band.row = index % bands.in_image / bands.in_row * bands.rows;
  band.column = index % bands.in_row * bands.columns;
  const int64_t rows = g.out_extent[0] - band.row;
  const int64_t columns = g.out_extent[1] - band.column;
  band.rows = rows < bands.rows ? static_cast<int>(rows) : bands.rows;
  band.columns = columns < bands.columns ? static_cast<int>(columns) : bands.columns;
  return band;
}

void CopyBand(const BandConv& conv, const Bands& bands, const Band& band, uint8_t* to) {
  const ConvGeometry& g = conv.geometry;
  const int64_t row_bytes = RowBytes(conv, band.columns);
  const int64_t copied = CopiedRows(conv, band.rows);
  const uint8_t* image = conv.x + band.image * g.x.image;
  const int64_t top = int64_t{band.row} * g.strides[0] - g.pads[0];
  const int64_t left = int64_t{band.column} * g.strides[1] - g.pads[1];
  for (int64_t r = 0; r < copied; ++r) {
    CopyRow(conv, image, top + r * bands.input_row_step, left, row_bytes / g.inputs,
            to + r * row_bytes);
  }
}

/// Distances of a pixel's taps in the copy, once for each pass over the weights.
void FillTaps(const BandConv& conv, int64_t row_bytes, int64_t* taps) {
  const ConvGeometry& g = conv.geometry;
  const int in_row = conv.shape.taps / g.kernel[0];
  for (int pass = 0; pass < conv.packed->passes; ++pass) {
    for (int kh = 0; kh < g.kernel[0]; ++kh) {
      for (int kw = 0; kw < in_row; ++kw) {
        *taps++ = kh * row_bytes + int64_t{kw} * g.dilations[1] * g.inputs;
      }
    }
  }
}

void RunGroup(const BandConv& conv, const Band& band, const uint8_t* copy, GemmCall& call) {
  const ConvGeometry& g = conv.geometry;
  const int64_t row_bytes = RowBytes(conv, band.columns);
  call.pixels = band.columns;
  for (int row = 0; row < band.rows; ++row) {
    call.x = copy + int64_t{row} * g.strides[0] * row_bytes;
    call.y = conv.y + (band.image * g.y.image + (band.row + row) * g.y.row +
                       band.column * g.y.pixel + call.group->first) *
                          conv.y_bytes;
    conv.packed->routines->run(call);
  }
}

}  // namespace

void RunBandConv(const BandConv& conv, const ParallelRunner* parallel) {
  const ConvGeometry& g = conv.geometry;
  if (g.Work() < kSmallWork) parallel = nullptr;
  const Bands bands = CutIntoBands(conv, parallel == nullptr ? 1 : parallel->threads);
  const int groups = conv.packed->group_count;
  const int per_band = bands.group_items ? groups : 1;
  const auto items = static_cast<int>(bands.in_image * g.images * per_band);
  ParallelFor(parallel, items, [&](int begin, int end) {
    alignas(64) uint8_t copy[kMostBandBytes];
    int64_t taps[kMostPasses * kMostTaps];
    GemmCall call = {};
    call.taps = taps;
    call.tap_count = conv.shape.taps * conv.packed->passes;
    call.depth = conv.shape.Depth();
    call.flip = conv.flip;
    call.epilogue = conv.epilogue;
    call.x_step = int64_t{g.strides[1]} * g.inputs;
    call.y_step = g.y.pixel * conv.y_bytes;
    int64_t copied = -1;
    for (int item = begin; item < end; ++item) {
      const int64_t index = item / per_band;
      const Band band = BandAt(conv, bands, index);
      if (index != copied) {
        CopyBand(conv, bands, band, copy);
        FillTaps(conv, RowBytes(conv, band.columns), taps);
        copied = index;
      }
      const int first = bands.group_items ? item % groups : 0;
      const int last = bands.group_items ? first + 1 : groups;
      for (int group = first; group < last; ++group) {
        call.group = &conv.packed->groups[group];
        RunGroup(conv, band, copy, call);
      }
    }
  });
}

}  // namespace tenon::cpu::q8

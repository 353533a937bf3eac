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

/// Copies `count` bytes, as they are or as the routines widen them.
void CopyBytes(const BandConv&, const uint8_t* from, int64_t count, uint8_t* to) {
  std::memcpy(to, from, static_cast<size_t>(count));
}
void CopyBytes(const BandConv& conv, const uint8_t* from, int64_t count, int16_t* to) {
  conv.packed->routines->widen(from, count, conv.flip, to);
}

/// Repeats the zero points of a pixel `pixels` times.
template <typename Element>
void FillPadding(const BandConv& conv, int64_t pixels, Element* to) {
  const int64_t channels = conv.geometry.inputs;
  if (pixels <= 0) return;
  CopyBytes(conv, conv.packed->padding, channels, to);
  // What is filled doubles each time.
  for (int64_t done = 1; done < pixels; done *= 2) {
    const int64_t more = pixels - done < done ? pixels - done : done;
    std::memcpy(to + done * channels, to, static_cast<size_t>(more * channels) * sizeof(Element));
  }
}

/// Copies `pixels` pixels of input row `h` of an image from column `left` on.
template <typename Element>
void CopyRow(const BandConv& conv, const uint8_t* image, int64_t h, int64_t left, int64_t pixels,
             Element* to) {
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
    CopyBytes(conv, from, inside * g.inputs, to);
  } else {
    for (int64_t i = 0; i < inside; ++i) {
      CopyBytes(conv, from + i * g.x.pixel, g.inputs, to + i * g.inputs);
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

template <typename Element>
void CopyBand(const BandConv& conv, const Bands& bands, const Band& band, Element* to) {
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

void RunCopy(const BandConv& conv, const uint8_t* x, GemmCall& call) {
  call.x = x;
  conv.packed->routines->run(call);
}

/// Sums of pixels are made for so many at a time.
constexpr int kSummedPixels = 64;

void RunSummed(const BandConv& conv, const GemmCall& whole) {
  const GemmRoutines& routines = *conv.packed->routines;
  const int pixels = whole.pixels;
  GemmCall call = whole;
  int32_t x_sums[kSummedPixels];
  call.x_sums = x_sums;
  for (int done = 0; done < pixels; done += call.pixels) {
    call.pixels = pixels - done < kSummedPixels ? pixels - done : kSummedPixels;
    for (int i = 0; i < call.pixels; ++i) {
      x_sums[i] = 0;
      for (int t = 0; t < call.tap_count; ++t) {
        x_sums[i] += routines.sum_wide(call.wide_x + i * call.x_step + call.taps[t], call.depth);
      }
    }
    routines.run_wide(call);
    call.wide_x += call.pixels * call.x_step;
    call.y += call.pixels * call.y_step;
  }
}

void RunCopy(const BandConv& conv, const int16_t* x, GemmCall& call) {
  call.wide_x = x + call.group->source;
  if (conv.packed->sums_x) return RunSummed(conv, call);
  conv.packed->routines->run_wide(call);
}

template <typename Element>
void RunGroup(const BandConv& conv, const Band& band, const Element* copy, GemmCall& call) {
  const ConvGeometry& g = conv.geometry;
  const int64_t row_bytes = RowBytes(conv, band.columns);
  for (int row = 0; row < band.rows; ++row) {
    call.pixels = band.columns;
    call.y = conv.y + (band.image * g.y.image + (band.row + row) * g.y.row +
                       band.column * g.y.pixel + call.group->first) *
                          conv.y_bytes;
    RunCopy(conv, copy + int64_t{row} * g.strides[0] * row_bytes, call);
  }
}

/// Runs the convolution on copies of bytes, or of what they are widened to.
template <typename Element>
void RunOnCopies(const BandConv& conv, const ParallelRunner* parallel) {
  const ConvGeometry& g = conv.geometry;
  const Bands bands = CutIntoBands(conv, parallel == nullptr ? 1 : parallel->threads);
  const int groups = conv.packed->group_count;
  const int per_band = bands.group_items ? groups : 1;
  const auto items = static_cast<int>(bands.in_image * g.images * per_band);
  ParallelFor(parallel, items, [&](int begin, int end) {
    alignas(64) Element copy[kMostBandBytes];
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

}  // namespace

void RunBandConv(const BandConv& conv, const ParallelRunner* parallel) {
  if (conv.geometry.Work() < kSmallWork) parallel = nullptr;
  if (conv.packed->routines->run_wide != nullptr) return RunOnCopies<int16_t>(conv, parallel);
  RunOnCopies<uint8_t>(conv, parallel);
}

}  // namespace tenon::cpu::q8

// Computes convolutions of few input channels in any layout, as first layers are.
//
// Where a pixel has so few channels, a pointer for every tap costs more than its products. So the
// input rows that a few output rows read are copied, with their padding, to the stack: then every
// tap has the same distance from its pixel. An input of bytes becomes floats on the way.
#include <cstddef>
#include <cstring>

#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/f32/tile_gemm.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

using In = ConvInput;
/// Is the number of pixels whose means are contiguous, so that whole vectors of channels are
/// subtracted.
constexpr int kMeanPixels = 16;

/// Describes one execution, on the stack.
struct FirstConv {
  TileGemm gemm;
  int tiles_per_row;
  int band_rows;     ///< output rows whose inputs are copied at once, at most
  int row_floats;    ///< of one padded input row, per channel
  bool interleaved;  ///< the copy is [rows][columns][channels], else [rows][channels][columns]
  bool bytes;        ///< x is u8
  float means[kMostFirstChannels * kMeanPixels];  ///< of bytes: [kMeanPixels][channels]
  int64_t offsets[kMostFirstTaps];                ///< [taps][channels], from a pixel's first tap
};

void FillMeans(const TensorView& mean, FirstConv& conv) {
  const int channels = conv.gemm.geometry.inputs;
  for (int i = 0; i < kMeanPixels * channels; ++i) {
    conv.means[i] = mean.As<const float>()[i % channels * int64_t{mean.strides[0]}];
  }
}

void FillOffsets(FirstConv& conv) {
  const ConvGeometry& g = conv.gemm.geometry;
  int64_t* offset = conv.offsets;
  for (int kh = 0; kh < g.kernel[0]; ++kh) {
    for (int kw = 0; kw < g.kernel[1]; ++kw) {
      const int64_t column = int64_t{kw} * g.dilations[1];
      for (int c = 0; c < g.inputs; ++c) {
        *offset++ = conv.interleaved ? (int64_t{kh} * conv.row_floats + column) * g.inputs + c
                                     : (int64_t{kh} * g.inputs + c) * conv.row_floats + column;
      }
    }
  }
}

/// Copies `count` values that lie `step` apart to `to`, between `before` and `after` zeros.
void CopyPadded(const float* from, int64_t step, int64_t before, int64_t count, int64_t after,
                float* to) {
  for (int64_t i = 0; i < before; ++i) to[i] = 0.0F;
  to += before;
  if (step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
  }
  for (int64_t i = 0; i < after; ++i) to[count + i] = 0.0F;
}

/// Does the same for pixels whose channels are contiguous.
void CopyInterleaved(const float* from, const ConvGeometry& g, int64_t before, int64_t count,
                     int64_t after, float* to) {
  if (g.x.pixel == g.inputs) {
    return CopyPadded(from, 1, before * g.inputs, count * g.inputs, after * g.inputs, to);
  }
  const auto pixel_bytes = static_cast<size_t>(g.inputs) * sizeof(float);
  std::memset(to, 0, static_cast<size_t>(before) * pixel_bytes);
  to += before * g.inputs;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * g.inputs, from + i * g.x.pixel, pixel_bytes);
  }
  std::memset(to + count * g.inputs, 0, static_cast<size_t>(after) * pixel_bytes);
}

/// Copies `count` bytes that are `step` apart, less their mean, as floats.
void CopyBytes(const uint8_t* from, int64_t step, int64_t count, float mean, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i * step]) - mean;
}

/// Does the same for `count` pixels whose channels are contiguous.
void CopyInterleavedBytes(const FirstConv& conv, const uint8_t* from, int64_t count, float* to) {
  const ConvGeometry& g = conv.gemm.geometry;
  const bool is_dense = g.x.pixel == g.inputs;
  const int64_t at_once = is_dense ? kMeanPixels : 1;
  while (count > 0) {
    const int64_t values = (count < at_once ? count : at_once) * g.inputs;
    for (int64_t i = 0; i < values; ++i) to[i] = static_cast<float>(from[i]) - conv.means[i];
    to += values;
    from += is_dense ? values : g.x.pixel;
    count -= at_once;
  }
}

/// Copies one row of bytes inside the image, between `before` and `after` columns of zeros.
void CopyByteRow(const FirstConv& conv, const uint8_t* from, int64_t before, int64_t count,
                 int64_t after, float* to) {
  const ConvGeometry& g = conv.gemm.geometry;
  std::memset(to, 0,
              static_cast<size_t>(conv.row_floats) * static_cast<size_t>(g.inputs) * sizeof(float));
  if (conv.interleaved) return CopyInterleavedBytes(conv, from, count, to + before * g.inputs);
  for (int c = 0; c < g.inputs; ++c) {
    CopyBytes(from + c * g.x.channel, g.x.pixel, count, conv.means[c], to + before);
    to += before + count + after;
  }
}

/// Copies the input rows that `rows` output rows from `row` on read, of the image that begins
/// `image` elements into x.
void CopyRows(const FirstConv& conv, const TensorView& x, int64_t image, int row, int rows,
              float* copy) {
  const ConvGeometry& g = conv.gemm.geometry;
  const int64_t left = g.pads[1] < conv.row_floats ? g.pads[1] : conv.row_floats;
  const int64_t room = conv.row_floats - left;
  const int64_t inside = g.in_extent[1] < room ? g.in_extent[1] : room;
  const int64_t right = room - inside;
  const int64_t row_bytes = int64_t{conv.row_floats} * g.inputs * int64_t{sizeof(float)};
  const int count = (rows - 1) * g.strides[0] + g.kernel[0];
  for (int i = 0; i < count; ++i) {
    const int64_t h = int64_t{row} * g.strides[0] - g.pads[0] + int64_t{i} * g.dilations[0];
    const bool is_inside = h >= 0 && h < g.in_extent[0];
    const int64_t first = image + h * g.x.row;
    const auto* from = is_inside && !conv.bytes ? x.As<const float>() + first : nullptr;
    if (!is_inside) {
      std::memset(copy, 0, static_cast<size_t>(row_bytes));
    } else if (conv.bytes) {
      CopyByteRow(conv, x.As<const uint8_t>() + first, left, inside, right, copy);
    } else if (conv.interleaved) {
      CopyInterleaved(from, g, left, inside, right, copy);
    } else {
      for (int c = 0; c < g.inputs; ++c) {
        CopyPadded(from + c * g.x.channel, g.x.pixel, left, inside, right,
                   copy + int64_t{c} * conv.row_floats);
      }
    }
    copy += int64_t{conv.row_floats} * g.inputs;
  }
}

/// True if rows are shorter than a tile, so that tiles go on from row to row.
bool HasShortRows(const FirstConv& conv) {
  return conv.band_rows > 1 && conv.gemm.geometry.out_extent[1] < MostPixels(*conv.gemm.packed);
}

/// Computes all outputs of one row from the copy of its inputs.
void RunRow(const FirstConv& conv, int64_t row, const float* copy, const TileOperands& operands,
            TileCall call) {
  const TileGemm& gemm = conv.gemm;
  const ConvGeometry& g = gemm.geometry;
  const int64_t step = int64_t{g.strides[1]} * (conv.interleaved ? g.inputs : 1);
  const float* rows[kMostPixels];
  call.rows = rows;
  const int larger = g.out_extent[1] % conv.tiles_per_row;  // tiles of one pixel more, first
  int first = 0;
  for (const int tiles : {larger, conv.tiles_per_row - larger}) {
    call.pixels = g.out_extent[1] / conv.tiles_per_row + (first == 0 && larger > 0 ? 1 : 0);
    for (int i = 0; i < call.pixels; ++i) rows[i] = copy + (first + i) * step;
    RunEvenTiles(gemm, row * g.out_extent[1] + first, tiles, call.pixels * step, operands, call);
    first += tiles * call.pixels;
  }
}

/// Computes all outputs of `count` short rows from the copy of their inputs.
void RunShortRows(const FirstConv& conv, int64_t row, int count, const float* copy,
                  const TileOperands& operands, TileCall call) {
  const TileGemm& gemm = conv.gemm;
  const ConvGeometry& g = gemm.geometry;
  const int64_t step = int64_t{g.strides[1]} * (conv.interleaved ? g.inputs : 1);
  const int64_t row_step = int64_t{g.strides[0]} * conv.row_floats * g.inputs;
  const float* rows[kMostPixels];
  call.rows = rows;
  const int most = MostPixels(*gemm.packed);
  const int pixels = count * g.out_extent[1];
  const int tiles = (pixels + most - 1) / most;
  int column = 0;
  int first = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    call.pixels = pixels / tiles + (tile < pixels % tiles ? 1 : 0);
    for (int i = 0; i < call.pixels; ++i) {
      rows[i] = copy + column * step;
      if (++column < g.out_extent[1]) continue;
      column = 0;
      copy += row_step;
    }
    RunEvenTiles(gemm, row * g.out_extent[1] + first, 1, 0, operands, call);
    first += call.pixels;
  }
}

/// Computes all outputs of `count` rows from the copy of their inputs.
void RunRows(const FirstConv& conv, int64_t row, int count, const float* copy,
             const TileOperands& operands, const TileCall& call) {
  const ConvGeometry& g = conv.gemm.geometry;
  if (HasShortRows(conv)) return RunShortRows(conv, row, count, copy, operands, call);
  const int64_t row_step = int64_t{g.strides[0]} * conv.row_floats * g.inputs;
  for (int i = 0; i < count; ++i) RunRow(conv, row + i, copy + i * row_step, operands, call);
}

}  // namespace

Status FirstConvCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(FirstConvSupports(setup.op)));
  return CheckConvConstants(setup.op);
}

Status FirstConvRun(const KernelCall& call) {
  FirstConv conv;
  conv.gemm =
      MakeConvGemm(*static_cast<const PackedWeights*>(call.state), Windows::kInCopies, call.op);
  const ConvGeometry& g = conv.gemm.geometry;
  const int tile_pixels = MostPixels(*conv.gemm.packed);
  conv.tiles_per_row = (g.out_extent[1] + tile_pixels - 1) / tile_pixels;
  conv.row_floats = static_cast<int>(PaddedRow(call.op));
  conv.interleaved = HasDenseChannels(call.op.Input(In::kX));
  conv.bytes = call.op.HasInput(In::kXMean);
  conv.band_rows = FirstBandRows(call.op);
  if (conv.bytes) FillMeans(call.op.Input(In::kXMean), conv);
  FillOffsets(conv);
  TileOperands operands;
  operands.x = nullptr;  // read from the copy
  operands.residual =
      call.op.HasInput(In::kResidual) ? call.op.Input(In::kResidual).As<const float>() : nullptr;
  operands.y = call.op.Output().As<float>();
  // Rows of whole tiles have the same bits in whatever bands, so that threads share rows out.
  const bool shares_rows = !HasShortRows(conv);
  const int item_rows = shares_rows ? 1 : conv.band_rows;
  const int items = (g.out_extent[0] + item_rows - 1) / item_rows;  // of one image
  ParallelFor(conv.gemm.small ? nullptr : call.parallel, g.images * items, [&](int begin, int end) {
    alignas(64) float copy[kMostRowFloats];
    TileCall tile = StartTiles(conv.gemm);
    tile.offsets = conv.offsets;
    tile.taps = 1;
    tile.depth = int64_t{g.Taps()} * g.inputs;
    for (int item = begin; item < end;) {
      const int image = item / items;
      const int first = item % items * item_rows;
      int rows = conv.band_rows;
      if (rows > g.out_extent[0] - first) rows = g.out_extent[0] - first;
      if (shares_rows && rows > end - item) rows = end - item;
      CopyRows(conv, call.op.Input(In::kX), image * g.x.image, first, rows, copy);
      RunRows(conv, int64_t{image} * g.out_extent[0] + first, rows, copy, operands, tile);
      item += shares_rows ? rows : 1;
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::f32

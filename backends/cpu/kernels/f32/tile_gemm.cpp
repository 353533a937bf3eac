#include "backends/cpu/kernels/f32/tile_gemm.hpp"

#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/few_rows.hpp"

namespace tenon::cpu::f32 {
namespace {

/// Returns how many pixels a tile takes. Pixels that lie a multiple of 4 KiB apart share one set of
/// the first-level cache, whose 8 ways hold the lines of no more: each step of the inner loop would
/// fetch all of them again.
int TilePixels(int most, const ConvGeometry& g) {
  constexpr int64_t kSetStride = 4096;
  constexpr int kWays = 8;
  const int64_t step = int64_t{g.x.pixel} * g.strides[1] * int64_t{sizeof(float)};
  const bool shares_set = step % kSetStride == 0 && g.Pixels() > 1;
  return shares_set && most > kWays ? kWays : most;
}

/// Returns how many pixels a tile of these weights takes at most. A window's pointers change with
/// each tap, and of more than these some lie in memory: one register of 16 channels a pixel has too
/// few products to hide that.
int MostTilePixels(const PackedWeights& packed, int taps) {
  constexpr int kMostPointers = 9;
  constexpr int kOneRegister = 16;
  const GroupedShape& shape = packed.shape;
  const int kept = taps > 0 ? kMostTapPointers / taps : kMostPixels;
  const int most = kept < MostPixels(packed) ? kept : MostPixels(packed);
  const int outputs = shape.outputs / shape.convolutions;
  const bool is_one = outputs > kOneRegister / 2 && outputs <= kOneRegister;
  return is_one && taps > 1 && most > kMostPointers ? kMostPointers : most;
}

/// Pointers to what pixels [first, first + count) read, tap after tap, of the first input channel:
/// the groups of a grouped convolution read as many floats on as their `source` says.
class TileRows {
 public:
  TileRows(const TileGemm& gemm, const float* x) : gemm_(gemm), x_(x) {
    if (gemm.pointwise) return;
    const ConvGeometry& g = gemm.geometry;
    int64_t* offset = offsets_;
    for (int kh = 0; kh < g.kernel[0]; ++kh) {
      for (int kw = 0; kw < g.kernel[1]; ++kw) {
        *offset++ =
            int64_t{kh} * g.dilations[0] * g.x.row + int64_t{kw} * g.dilations[1] * g.x.pixel;
      }
    }
    for (int axis = 0; axis < 2; ++axis) {
      last_inside_[axis] = g.in_extent[axis] - 1 - int64_t{g.kernel[axis] - 1} * g.dilations[axis];
    }
  }

  [[nodiscard]] const float* const* Fill(int64_t first, int count) {
    if (first == first_) return rows_;
    first_ = first;
    if (gemm_.pointwise) {
      const float* from = x_ + first * gemm_.x_step;
      for (int i = 0; i < count; ++i) rows_[i] = from + i * gemm_.x_step;
      return rows_;
    }
    const ConvGeometry& g = gemm_.geometry;
    const int64_t in_image = int64_t{g.out_extent[0]} * g.out_extent[1];
    int64_t image = first / in_image;
    int64_t row = first % in_image / g.out_extent[1];
    int64_t column = first % g.out_extent[1];
    for (int i = 0; i < count; ++i) {
      FillPixel(i, count, x_ + image * g.x.image, int64_t{row} * g.strides[0] - g.pads[0],
                int64_t{column} * g.strides[1] - g.pads[1]);
      if (++column < g.out_extent[1]) continue;
      column = 0;
      if (++row < g.out_extent[0]) continue;
      row = 0;
      ++image;
    }
    return rows_;
  }

 private:
  void FillPixel(int i, int count, const float* image, int64_t top, int64_t left) {
    const ConvGeometry& g = gemm_.geometry;
    const float** row = rows_ + i;
    if (top >= 0 && left >= 0 && top <= last_inside_[0] && left <= last_inside_[1]) {
      const float* from = image + top * g.x.row + left * g.x.pixel;
      for (int tap = 0; tap < gemm_.taps; ++tap, row += count) {
        *row = from + offsets_[tap];
      }
      return;
    }
    for (int kh = 0; kh < g.kernel[0]; ++kh) {
      for (int kw = 0; kw < g.kernel[1]; ++kw) {
        *row = g.Input(image, top + int64_t{kh} * g.dilations[0],
                       left + int64_t{kw} * g.dilations[1], gemm_.packed->zeros);
        row += count;
      }
    }
  }

  const TileGemm& gemm_;
  const float* x_;
  int64_t first_ = -1;
  int64_t last_inside_[2] = {};  ///< the last row and column that no tap leaves the image from
  int64_t offsets_[kMostTaps];   ///< of taps from the first one
  const float* rows_[kMostTapPointers];
};

/// For unevenly spaced outputs, computes the tile in a buffer and then stores each element.
void RunScattered(const TileGemm& gemm, TileCall call, const ChannelGroup& group, int64_t first,
                  const TileOperands& operands) {
  const ConvGeometry& g = gemm.geometry;
  alignas(64) float tile[kMostPixels * kMostWidth];
  alignas(64) float residual[kMostPixels * kMostWidth];
  const int64_t in_image = int64_t{g.out_extent[0]} * g.out_extent[1];
  const auto offset = [&](const ImageStrides& strides, int64_t pixel, int channel) {
    const int64_t in_row = pixel % in_image;
    return pixel / in_image * strides.image + in_row / g.out_extent[1] * strides.row +
           in_row % g.out_extent[1] * strides.pixel + channel * strides.channel;
  };
  call.repeats = 1;
  call.y = tile;
  call.y_step = kMostWidth;
  if (operands.residual != nullptr) {
    for (int i = 0; i < call.pixels; ++i) {
      for (int m = 0; m < group.channels; ++m) {
        residual[i * kMostWidth + m] =
            operands.residual[offset(g.residual, first + i, group.first + m)];
      }
    }
    call.residual = residual;
    call.residual_step = kMostWidth;
  }
  gemm.packed->routines->tile(call);
  ActivateTile(gemm, tile, kMostWidth, call.pixels, group.channels);
  for (int i = 0; i < call.pixels; ++i) {
    for (int m = 0; m < group.channels; ++m) {
      operands.y[offset(g.y, first + i, group.first + m)] = tile[i * kMostWidth + m];
    }
  }
}

constexpr int kLineFloats = 16;
/// Tiles of so few pixels ask for nothing ahead: reading weights is all that they do.
constexpr int kFewPixels = 3;

/// Weights of at most so many bytes come near by themselves, and tiles that ask for none are
/// shorter.
constexpr int64_t kFewWeightBytes = 64 * 1024;

bool AsksAhead(const PackedWeights& packed) {
  const GroupedShape& shape = packed.shape;
  const int64_t weights = int64_t{shape.outputs} * shape.depth * shape.taps;
  return weights * int64_t{sizeof(float)} > kFewWeightBytes;
}

/// Lets the tiles from `tile` on, of `tiles`, bring their share of the next group's weights near:
/// the first tile of that group would else wait for memory.
void LookAhead(const TileGemm& gemm, int group, int tile, int tiles, TileCall& call) {
  const PackedWeights& packed = *gemm.packed;
  call.ahead = nullptr;
  call.ahead_lines = 0;
  if (group + 1 == packed.group_count || !AsksAhead(packed)) return;
  const ChannelGroup& next = packed.groups[group + 1];
  if (next.weight_step != next.width) return;  // no panel
  const int64_t floats = int64_t{gemm.taps} * gemm.depth * next.width;
  const int64_t steps = int64_t{gemm.taps} * (gemm.depth / kAheadDepth);
  if (steps == 0) return;
  const int64_t step = (floats / tiles + steps) / steps;
  const int64_t lines = (step + kLineFloats - 1) / kLineFloats;
  call.ahead = next.weights + floats / tiles * tile;
  call.ahead_step = step < kLineFloats ? step : kLineFloats;
  call.ahead_lines = static_cast<int>(lines < kAheadDepth ? lines : kAheadDepth);
}

/// Asks for the first group's weights: tiles of few pixels would wait for each of their lines.
void FetchGroup(const PackedWeights& packed, int group) {
  const ChannelGroup& from = packed.groups[group];
  const int64_t rows = int64_t{packed.shape.taps} * packed.shape.depth;
  const float* row = from.weights;
  for (int64_t k = 0; k < rows; ++k, row += from.weight_step) __builtin_prefetch(row, 0, 2);
}

/// Lets the groups of a tile bring the weights of the group behind each near. The first tile reads
/// them all from wherever they lie; the others find them in the second-level cache.
void LookAtNextGroups(const PackedWeights& packed, TileCall& call) {
  if (packed.even_groups < 2 || !AsksAhead(packed)) return;
  const ChannelGroup& first = packed.groups[0];
  const bool is_panel = first.weight_step == first.width;
  call.ahead_next = packed.weights_next;
  call.ahead_step = is_panel ? kLineFloats : first.weight_step;
  call.ahead_lines = is_panel ? kAheadDepth * first.width / kLineFloats : kAheadDepth;
}

void SetGroup(const ChannelGroup& group, TileCall& call) {
  call.weights = group.weights;
  call.weight_step = group.weight_step;
  call.bias = group.bias;
  call.width = group.width;
  call.channels = group.channels;
  call.x_first = group.source;
}

/// Points at the outputs and residuals of a group from pixel `first` on.
void SetOutputs(const TileGemm& gemm, const ChannelGroup& group, int64_t first,
                const TileOperands& operands, TileCall& call) {
  call.y = operands.y + first * gemm.y_step + group.first;
  if (operands.residual != nullptr) {
    call.residual = operands.residual + first * gemm.residual_step + group.first;
  }
}

/// Computes `count` tiles of call.pixels pixels of one group, from pixel `first` on.
void RepeatTile(const TileGemm& gemm, const ChannelGroup& group, int64_t first, int count,
                const TileOperands& operands, TileCall& call) {
  if (gemm.scatter) {
    const int64_t x_first = call.x_first;
    for (int i = 0; i < count; ++i) {
      RunScattered(gemm, call, group, first + i * call.pixels, operands);
      call.x_first += call.x_next;
    }
    call.x_first = x_first;
    return;
  }
  call.repeats = count;
  call.weights_next = 0;
  call.bias_next = 0;
  call.residual_next = call.pixels * gemm.residual_step;
  call.y_next = call.pixels * gemm.y_step;
  SetOutputs(gemm, group, first, operands, call);
  gemm.packed->routines->tile(call);
  ActivateTile(gemm, call.y, gemm.y_step, call.pixels * count, group.channels);
}

/// Computes tiles [tile, end) of one group.
void RunTilesOf(const TileGemm& gemm, int group_index, int tile, int end,
                const TileOperands& operands, TileRows& rows, TileCall& call) {
  // What an activation follows is to be in the first-level cache still.
  constexpr int kMostActivated = 4;
  const ChannelGroup& group = gemm.packed->groups[group_index];
  SetGroup(group, call);
  const int most = !gemm.pointwise ? 1 : gemm.epilogue.is_clamp ? end : kMostActivated;
  for (int done = 0; tile < end; tile += done) {
    call.pixels = gemm.TilePixels(tile);
    done = 1;
    while (done < most && tile + done < end && gemm.TilePixels(tile + done) == call.pixels) ++done;
    const int64_t first = gemm.FirstPixel(tile);
    call.rows = rows.Fill(first, call.pixels);
    call.x_next = call.pixels * gemm.x_step;
    LookAhead(gemm, group_index, tile, static_cast<int>(gemm.tiles), call);
    RepeatTile(gemm, group, first, done, operands, call);
  }
}

/// Computes groups [group, end) of one tile, from x_first floats behind what its rows point to.
void RunGroupsOf(const TileGemm& gemm, int group, int end, int64_t first, int64_t x_first,
                 const TileOperands& operands, TileCall& call) {
  const PackedWeights& packed = *gemm.packed;
  while (group < end) {
    const ChannelGroup& from = packed.groups[group];
    SetGroup(from, call);
    call.x_first += x_first;
    call.x_next = packed.source_next;
    const int even_end = packed.even_groups < end ? packed.even_groups : end;
    const int count = group < even_end && !gemm.scatter ? even_end - group : 1;
    group += count;
    if (count == 1) {
      RepeatTile(gemm, from, first, 1, operands, call);
      continue;
    }
    call.repeats = count;
    call.weights_next = packed.weights_next;
    call.bias_next = packed.bias_next;
    call.residual_next = from.width;
    call.y_next = from.width;
    SetOutputs(gemm, from, first, operands, call);
    packed.routines->tile(call);
    ActivateTile(gemm, call.y, gemm.y_step, call.pixels, count * from.width);
  }
}

/// Makes one tap of each row of a window where its columns are one: what the row holds is depth
/// then, and a tap has no pointer of its own. Weights have that order. Returns by how much the
/// depth has grown.
int JoinColumns(ConvGeometry& g) {
  if (!HasColumnsAsOne(g)) return 1;
  const int columns = g.kernel[1];
  g.kernel[1] = 1;
  return columns;
}

/// Returns true if output pixel i reads the input at i * x_step and nothing else.
bool IsEvenRow(const ConvGeometry& g, const TensorView& x, int64_t* x_step) {
  if (IsPointwise(g)) return HasEvenPixels(x, x_step);
  if (g.Taps() != 1 || g.Pixels() != g.out_extent[1] || g.pads[0] != 0 || g.pads[1] != 0 ||
      int64_t{g.out_extent[1] - 1} * g.strides[1] >= g.in_extent[1]) {
    return false;
  }
  *x_step = g.strides[1] * g.x.pixel;
  return true;
}

}  // namespace

void ActivateTile(const TileGemm& gemm, float* y, int64_t y_step, int pixels, int channels) {
  if (gemm.epilogue.is_clamp) return;
  if (y_step == channels) {  // one row: short ones leave lanes empty
    channels *= pixels;
    pixels = 1;
  }
  Activate(*gemm.packed->routines, gemm.activation, y, y_step, pixels, channels);
}

bool IsPointwise(const ConvGeometry& g) {
  return g.Taps() == 1 && g.strides[0] == 1 && g.strides[1] == 1 &&
         g.out_extent[0] == g.in_extent[0] && g.out_extent[1] == g.in_extent[1] && g.pads[0] == 0 &&
         g.pads[1] == 0;
}

GroupedShape ShapeOf(const ConvGeometry& geometry, const Routines& routines) {
  GroupedShape shape;
  shape.outputs = geometry.outputs;
  shape.convolutions = geometry.convolutions;
  shape.depth = geometry.inputs / geometry.convolutions;
  shape.taps = geometry.Taps();
  shape.wide_last = routines.wide_tile.width > 0 && shape.convolutions == 1 &&
                    shape.outputs > routines.tile_width && shape.outputs <= kMostWideOutputs &&
                    shape.outputs % routines.tile_width == kWidthStep;
  return shape;
}

TileGemm MakeTileGemm(const PackedWeights& packed, const ConvGeometry& geometry, Windows windows,
                      const Activation& activation, const TensorView& x, const TensorView& y,
                      const TensorView* residual) {
  TileGemm gemm = {};
  gemm.packed = &packed;
  gemm.geometry = geometry;
  gemm.depth = packed.shape.depth;
  if (windows == Windows::kInImage) gemm.depth *= JoinColumns(gemm.geometry);
  gemm.taps = gemm.geometry.Taps();
  gemm.activation = activation;
  gemm.epilogue = MakeEpilogue(activation);
  const int tile_pixels = TilePixels(MostTilePixels(packed, gemm.taps), geometry);
  gemm.tiles = (geometry.Pixels() + tile_pixels - 1) / tile_pixels;
  gemm.tile_pixels = geometry.Pixels() / gemm.tiles;
  gemm.larger_tiles = geometry.Pixels() % gemm.tiles;
  const GroupedShape& shape = packed.shape;
  const int64_t weights = int64_t{shape.outputs} * shape.depth * shape.taps;
  gemm.groups_first = weights * int64_t{sizeof(float)} > kManyWeightBytes;
  gemm.small = geometry.Work() < kSmallWork;
  gemm.pointwise = IsEvenRow(gemm.geometry, x, &gemm.x_step);
  // Where groups read nothing in common, one call for many tiles of each is best.
  const bool reads_once = shape.convolutions > 1 || packed.group_count == 1;
  if (gemm.pointwise && reads_once) gemm.groups_first = true;
  gemm.scatter = !HasDenseChannels(y) || !HasEvenPixels(y, &gemm.y_step);
  if (residual != nullptr) {
    gemm.scatter = gemm.scatter || !HasDenseChannels(*residual) ||
                   !HasEvenPixels(*residual, &gemm.residual_step);
  }
  return gemm;
}

ConvGeometry RowGeometry(int rows, int inputs, int outputs) {
  ConvGeometry geometry;
  geometry.inputs = inputs;
  geometry.outputs = outputs;
  SetPointWindow(rows, geometry);
  geometry.x.channel = 1;
  geometry.x.pixel = inputs;
  return geometry;
}

TileGemm MakeRowGemm(const PackedWeights& packed, const ConvGeometry& geometry,
                     const Activation& activation) {
  const int32_t dims[4] = {1, geometry.outputs, 1, geometry.in_extent[1]};
  const int32_t y_strides[4] = {0, 1, 0, geometry.outputs};
  const int32_t x_strides[4] = {0, 1, 0, geometry.inputs};
  TensorView y;
  y.dims = dims;
  y.strides = y_strides;
  y.rank = 4;
  TensorView x = y;
  x.strides = x_strides;
  return MakeTileGemm(packed, geometry, Windows::kInImage, activation, x, y, nullptr);
}

TileCall StartTiles(const TileGemm& gemm) {
  TileCall call = {};
  call.taps = gemm.taps;
  call.depth = gemm.depth;
  call.low = gemm.epilogue.low;
  call.high = gemm.epilogue.high;
  call.residual_step = gemm.residual_step;
  call.y_step = gemm.y_step;
  call.outputs_far = true;
  return call;
}

void RunEvenTiles(const TileGemm& gemm, int64_t first, int tiles, int64_t x_next,
                  const TileOperands& operands, TileCall& call) {
  const int groups = gemm.packed->group_count;
  if (groups == 1 && tiles > 0) {
    SetGroup(gemm.packed->groups[0], call);
    call.x_next = x_next;
    return RepeatTile(gemm, gemm.packed->groups[0], first, tiles, operands, call);
  }
  // Pixel by pixel, so that outputs are written in order.
  for (int tile = 0; tile < tiles; ++tile) {
    RunGroupsOf(gemm, 0, groups, first + tile * call.pixels, tile * x_next, operands, call);
  }
}

void RunTileGemm(const TileGemm& gemm, const float* x, const float* residual, float* y,
                 const ParallelRunner* parallel) {
  if (HasFewRows(gemm, residual)) return RunFewRows(gemm, x, y, parallel);
  const TileOperands operands = {x, residual, y};
  const PackedWeights& packed = *gemm.packed;
  const auto tiles = static_cast<int>(gemm.tiles);
  const int groups = packed.group_count;
  const int inner = gemm.groups_first ? tiles : groups;
  ParallelFor(gemm.small ? nullptr : parallel, tiles * groups, [&](int begin, int end) {
    TileRows rows(gemm, operands.x);
    TileCall call = StartTiles(gemm);
    if (gemm.tile_pixels > kFewPixels) {
      FetchGroup(packed, gemm.groups_first ? begin / inner : begin % inner);
      if (!gemm.groups_first) LookAtNextGroups(packed, call);
    }
    for (int item = begin; item < end;) {
      const int from = item % inner;
      const int outer = item / inner;
      const int to = end - item < inner - from ? from + (end - item) : inner;
      item += to - from;
      if (gemm.groups_first) {
        RunTilesOf(gemm, outer, from, to, operands, rows, call);
        continue;
      }
      const int64_t first = gemm.FirstPixel(outer);
      call.pixels = gemm.TilePixels(outer);
      call.rows = rows.Fill(first, call.pixels);
      RunGroupsOf(gemm, from, to, first, 0, operands, call);
      call.ahead_lines = 0;
      call.ahead_next = 0;
    }
  });
}

}  // namespace tenon::cpu::f32

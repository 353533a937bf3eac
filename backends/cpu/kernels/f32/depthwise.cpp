// Computes depthwise convolutions (one input channel for every output channel, or for several), and
// those of groups of a few channels, whose vectors are spread channel by channel.
// Each item of work is a few adjacent pixels of one output row, with all channels.
#include <cstddef>

#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/epilogue.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/held_block.hpp"
#include "backends/cpu/kernels/portable/gemm/stored_weights.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/conv_geometry.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::f32 {
namespace {

using In = ConvInput;
constexpr int64_t kSmallWork = 60'000;

/// What `load` makes, in one block: where weights and bias lie. Read in place if the plan has them
/// channels-last, as f32; else packed, padded to kChannelBlock channels.
struct DepthwiseWeights {
  const Routines* routines;
  size_t bytes;
  const float* weights;
  const float* bias;
  int64_t block_step;  ///< see DepthwiseCall
  int64_t tap_step;
  float* packed_weights;  ///< [channels / kChannelBlock][taps][group][kChannelBlock]
  float* packed_bias;
  float* zeros;
};

/// Describes one execution.
struct Depthwise {
  const DepthwiseWeights* packed;
  ConvGeometry geometry;
  Activation activation;
  Epilogue epilogue;
  int multiplier;  ///< outputs of each input channel
  int group;       ///< inputs of each output channel
  int compact_kernel;
  int compact_stride;
  int tiles_per_row;
  int tile_pixels;  ///< of the tiles behind the first `larger_tiles` of a row, which have one more
  int larger_tiles;

  [[nodiscard]] int FirstPixel(int tile) const {
    return tile * tile_pixels + (tile < larger_tiles ? tile : larger_tiles);
  }
  [[nodiscard]] int TilePixels(int tile) const {
    return tile_pixels + (tile < larger_tiles ? 1 : 0);
  }
};

bool ReadsInPlace(const OpCall& op) {
  const TensorView& w = op.Input(In::kWeights);
  constexpr int kFewestLanes = 4;  // the last vector may not reach beyond the last channel
  return w.dtype == DType::kF32 && w.dims[0] % kFewestLanes == 0 && HasOutputsLast(w);
}

/// Returns how many products each output is the sum of.
size_t WeightRows(const ConvGeometry& g) {
  return static_cast<size_t>(g.Taps()) * static_cast<size_t>(g.inputs / g.convolutions);
}

DepthwiseWeights* LayOut(BlockLayout& block, const ConvGeometry& geometry, bool in_place,
                         bool has_bias) {
  const auto channels = static_cast<size_t>(RoundUp(geometry.outputs, kChannelBlock));
  auto* packed = block.Take<DepthwiseWeights>(1);
  const size_t products = WeightRows(geometry);
  auto* weights = block.Take<float>(in_place ? 0 : channels * products);
  auto* bias = block.Take<float>(in_place && has_bias ? 0 : channels);
  auto* zeros = block.Take<float>(channels);
  if (packed == nullptr) return nullptr;
  packed->packed_weights = weights;
  packed->packed_bias = bias;
  packed->zeros = zeros;
  return packed;
}

/// Returns the kernel's size where the compact loops have it, else 0.
int CompactKernel(const ConvGeometry& g, int multiplier, int group) {
  const bool compact =
      multiplier == 1 && IsCompactDepthwise(g.kernel, g.strides, g.dilations, group);
  return compact ? g.kernel[0] : 0;
}

void UseInPlace(const OpCall& op, const ConvGeometry& geometry, DepthwiseWeights& packed) {
  packed.weights = op.Input(In::kWeights).As<const float>();
  packed.bias = op.HasInput(In::kBias) ? op.Input(In::kBias).As<const float>() : packed.packed_bias;
  packed.block_step = kChannelBlock;
  packed.tap_step = geometry.outputs;
}

void Pack(const OpCall& op, const ConvGeometry& geometry, DepthwiseWeights& packed) {
  const TensorView& w = op.Input(In::kWeights);
  const portable::StoredWeights stored =
      portable::StoredWeightsOf(op, In::kWeights, In::kWeightsScale);
  const auto* bias = op.HasInput(In::kBias) ? op.Input(In::kBias).As<const float>() : nullptr;
  const int group = geometry.inputs / geometry.convolutions;
  const auto products = static_cast<int64_t>(WeightRows(geometry));
  packed.weights = packed.packed_weights;
  packed.bias = packed.packed_bias;
  packed.block_step = kChannelBlock * products;
  packed.tap_step = kChannelBlock;
  for (int c = 0; c < geometry.outputs; ++c) {
    const int in_block = c % kChannelBlock;
    float* to = packed.packed_weights + (c - in_block) * products + in_block;
    for (int64_t row = 0; row < geometry.kernel[0]; ++row) {
      for (int64_t k = 0; k < group; ++k) {
        stored.Read(c * w.strides[0] + k * w.strides[1] + row * w.strides[2], w.strides[3],
                    geometry.kernel[1], c,
                    to + (row * geometry.kernel[1] * group + k) * kChannelBlock,
                    group * kChannelBlock);
      }
    }
    if (bias != nullptr) packed.packed_bias[c] = bias[c];
  }
}

/// Points at the columns that `pixels` adjacent outputs read, kernel row after kernel row.
void FillColumns(const Depthwise& state, const float* image, int64_t top, int64_t left, int pixels,
                 const float** rows) {
  const ConvGeometry& g = state.geometry;
  const int columns = (pixels - 1) * state.compact_stride + state.compact_kernel;
  for (int kh = 0; kh < g.kernel[0]; ++kh) {
    const int64_t h = top + kh;
    const bool inside = h >= 0 && h < g.in_extent[0];
    for (int c = 0; c < columns; ++c) {
      const int64_t w = left + c;
      *rows++ = inside && w >= 0 && w < g.in_extent[1] ? image + h * g.x.row + w * g.x.pixel
                                                       : state.packed->zeros;
    }
  }
}

void FillTaps(const Depthwise& state, const float* image, int64_t top, int64_t left, int pixels,
              const float** rows) {
  const ConvGeometry& g = state.geometry;
  for (int kh = 0; kh < g.kernel[0]; ++kh) {
    for (int kw = 0; kw < g.kernel[1]; ++kw) {
      for (int i = 0; i < pixels; ++i) {
        *rows++ = g.Input(image, top + int64_t{kh} * g.dilations[0],
                          left + int64_t{i} * g.strides[1] + int64_t{kw} * g.dilations[1],
                          state.packed->zeros);
      }
    }
  }
}

struct Operands {
  const float* x;
  const float* residual;
  float* y;
};

/// Returns a call with all that the tiles of an execution have in common. Tiles change it, and
/// never copy it: see StartTiles.
DepthwiseCall StartTiles(const Depthwise& state) {
  const ConvGeometry& g = state.geometry;
  DepthwiseCall call = {};
  call.weights = state.packed->weights;
  call.block_step = state.packed->block_step;
  call.tap_step = state.packed->tap_step;
  call.bias = state.packed->bias;
  call.residual_step = g.residual.pixel;
  call.y_step = g.y.pixel;
  call.channels = g.outputs;
  call.taps = g.Taps();
  call.multiplier = state.multiplier;
  call.group = state.group;
  call.compact_kernel = state.compact_kernel;
  call.compact_stride = state.compact_stride;
  call.low = state.epilogue.low;
  call.high = state.epilogue.high;
  return call;
}

/// Says whether all columns that `pixels` adjacent outputs read lie inside the input.
bool IsInside(const Depthwise& state, int64_t left, int pixels) {
  const int columns = (pixels - 1) * state.compact_stride + state.compact_kernel;
  return left >= 0 && left + columns <= state.geometry.in_extent[1];
}

/// Points at the kernel's rows from column `left` on: those outside the input are left out.
void FillRows(const Depthwise& state, const float* image, int64_t top, int64_t left,
              const float** rows, DepthwiseCall& call) {
  const ConvGeometry& g = state.geometry;
  call.first_row = 0;
  call.end_row = g.kernel[0];
  while (call.first_row < g.kernel[0] && top + call.first_row < 0) ++call.first_row;
  while (call.end_row > call.first_row && top + call.end_row > g.in_extent[0]) --call.end_row;
  for (int h = call.first_row; h < call.end_row; ++h) {
    rows[h] = image + (top + h) * g.x.row + left * g.x.pixel;
  }
  call.x_step = g.x.pixel;
}

/// Computes tiles [tile, end) of one output row.
void RunTiles(const Depthwise& state, int image, int row, int tile, int end,
              const Operands& operands, const float** rows, DepthwiseCall& call) {
  const ConvGeometry& g = state.geometry;
  const float* x = operands.x + image * g.x.image;
  const int64_t top = int64_t{row} * g.strides[0] - g.pads[0];
  while (tile < end) {
    const int first = state.FirstPixel(tile);
    call.pixels = state.TilePixels(tile);
    call.repeats = 1;
    call.x_step = 0;
    const int64_t left = int64_t{first} * g.strides[1] - g.pads[1];
    if (state.compact_kernel == 0) {
      FillTaps(state, x, top, left, call.pixels, rows);
    } else if (!IsInside(state, left, call.pixels)) {
      FillColumns(state, x, top, left, call.pixels, rows);
    } else {
      FillRows(state, x, top, left, rows, call);
      const int64_t step = int64_t{call.pixels} * g.strides[1];
      while (tile + call.repeats < end && state.TilePixels(tile + call.repeats) == call.pixels &&
             IsInside(state, left + call.repeats * step, call.pixels)) {
        ++call.repeats;
      }
    }
    call.rows = rows;
    if (operands.residual != nullptr) {
      call.residual = operands.residual + image * g.residual.image + row * g.residual.row +
                      first * g.residual.pixel;
    }
    call.y = operands.y + image * g.y.image + row * g.y.row + first * g.y.pixel;
    state.packed->routines->depthwise(call);
    if (!state.epilogue.is_clamp) {
      Activate(*state.packed->routines, state.activation, call.y, call.y_step,
               call.pixels * call.repeats, call.channels);
    }
    tile += call.repeats;
  }
}

}  // namespace

Status DepthwiseCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(DepthwiseSupports(setup.op)));
  TENON_RETURN_IF_ERROR(CheckDenseChannels(setup.op));
  return CheckConvConstants(setup.op);
}

Status DepthwiseLoad(const KernelSetup& setup, void** shared) {
  const OpCall& op = setup.op;
  const ConvGeometry geometry = GeometryOf(op);
  const bool in_place = ReadsInPlace(op);
  BlockLayout sizes(nullptr);
  LayOut(sizes, geometry, in_place, op.HasInput(In::kBias));
  void* memory = AllocateBlock(sizes.bytes());
  TENON_ENSURE(memory != nullptr, kOutOfMemory, "no memory for {0} bytes of packed weights",
               static_cast<int64_t>(sizes.bytes()));
  BlockLayout block(memory);
  DepthwiseWeights& packed = *LayOut(block, geometry, in_place, op.HasInput(In::kBias));
  packed.routines = &ChosenRoutines();
  packed.bytes = sizes.bytes();
  if (in_place) {
    UseInPlace(op, geometry, packed);
  } else {
    Pack(op, geometry, packed);
  }
  *shared = memory;
  return OkStatus();
}

Status DepthwiseRun(const KernelCall& call) {
  Depthwise state;
  state.packed = static_cast<const DepthwiseWeights*>(call.state);
  state.geometry = GeometryOf(call.op);
  const ConvGeometry& g = state.geometry;
  state.activation = call.op.AttributesAs<ConvAttributes>().activation;
  state.epilogue = MakeEpilogue(state.activation);
  state.group = FewGroupChannels(call.op);
  state.multiplier = state.group > 1 ? 1 : ChannelMultiplier(call.op);
  state.compact_kernel = CompactKernel(g, state.multiplier, state.group);
  state.compact_stride = static_cast<int>(g.strides[1]);
  state.tiles_per_row = (g.out_extent[1] + kMostDepthwisePixels - 1) / kMostDepthwisePixels;
  state.tile_pixels = g.out_extent[1] / state.tiles_per_row;
  state.larger_tiles = g.out_extent[1] % state.tiles_per_row;
  Operands operands;
  operands.x = call.op.Input(In::kX).As<const float>();
  operands.residual =
      call.op.HasInput(In::kResidual) ? call.op.Input(In::kResidual).As<const float>() : nullptr;
  operands.y = call.op.Output().As<float>();
  const bool small = g.Work() < kSmallWork;
  const int tiles = state.tiles_per_row;
  ParallelFor(small ? nullptr : call.parallel, g.images * g.out_extent[0] * tiles,
              [&](int begin, int end) {
                const float* rows[kMostDepthwiseTaps * kMostDepthwisePixels];
                DepthwiseCall tile_call = StartTiles(state);
                for (int item = begin; item < end;) {
                  const int tile = item % tiles;
                  const int row = item / tiles;
                  const int last = end - item < tiles - tile ? tile + (end - item) : tiles;
                  RunTiles(state, row / g.out_extent[0], row % g.out_extent[0], tile, last,
                           operands, rows, tile_call);
                  item += last - tile;
                }
              });
  return OkStatus();
}

size_t DepthwiseBytes(const void* shared, const void*) {
  return shared == nullptr ? 0 : static_cast<const DepthwiseWeights*>(shared)->bytes;
}

}  // namespace tenon::cpu::f32

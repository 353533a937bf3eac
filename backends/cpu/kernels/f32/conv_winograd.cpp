// Computes 3x3 convolutions of stride 1 by Winograd's F(4x4, 3x3): for each pair of channels, 36
// products on a 6x6 input tile do the work of 144.
//
// Tiles are cut into blocks whose coefficients stay in the second-level cache, and grouped
// convolutions into slices of several groups. Each part of the work (one per thread) takes whole
// blocks of slices and has a piece of the workspace: the block's input coefficients
// [36][tiles][channels], and the products [36][tiles][width] of a bundle of output channels: of all
// groups of a slice, or of as many channels of one as a register tile has.
#include <cstddef>

#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/epilogue.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/f32/packed_weights.hpp"
#include "backends/cpu/kernels/portable/gemm/stored_weights.hpp"
#include "backends/cpu/kernels/winograd_tiles.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/conv_geometry.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::f32 {
namespace {

using In = ConvInput;
constexpr int kInputTile = 6;
constexpr int kTaps = 9;
constexpr int64_t kSmallWork = 300'000;
constexpr int kLineFloats = 16;

/// Describes one execution.
struct Winograd {
  const PackedWeights* packed;  ///< [36][channels][width] per group
  ConvGeometry geometry;
  WinogradBlocks blocks;
  Activation activation;
  Epilogue epilogue;
  int tile_rows;
  int tile_columns;
};

/// Outputs whose weights are transformed together, in lanes.
constexpr int kPackedAtOnce = 8;

/// Computes G g G transposed in double, so that the weights' transform adds no significant error.
void TransformWeights(const float (&w)[kTaps][kPackedAtOnce],
                      double (&coefficients)[kWinogradCoefficients][kPackedAtOnce]) {
  constexpr double kG[kInputTile][3] = {{1.0 / 4, 0, 0},
                                        {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                        {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                        {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                        {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                        {0, 0, 1}};
  double half[kInputTile][3][kPackedAtOnce] = {};
  for (int r = 0; r < kInputTile; ++r) {
    for (int c = 0; c < 3; ++c) {
      for (int k = 0; k < 3; ++k) {
        const double factor = kG[r][k];
        for (int lane = 0; lane < kPackedAtOnce; ++lane) {
          half[r][c][lane] += factor * static_cast<double>(w[k * 3 + c][lane]);
        }
      }
    }
  }
  for (int r = 0; r < kInputTile; ++r) {
    for (int c = 0; c < kInputTile; ++c) {
      double(&sums)[kPackedAtOnce] = coefficients[r * kInputTile + c];
      for (int lane = 0; lane < kPackedAtOnce; ++lane) {
        double sum = 0.0;
        for (int k = 0; k < 3; ++k) sum += half[r][k][lane] * kG[c][k];
        sums[lane] = sum;
      }
    }
  }
}

/// Transforms the weights of `count` outputs from `output` on, of input k, to `weights`, where the
/// coefficients' rows are `step` floats apart.
void PackOutputs(const TensorView& w, const portable::StoredWeights& stored, int output, int count,
                 int64_t k, float* weights, int64_t step) {
  float taps[kTaps][kPackedAtOnce] = {};
  for (int lane = 0; lane < count; ++lane) {
    const int64_t from = int64_t{output + lane} * w.strides[0] + k * w.strides[1];
    for (int row = 0; row < 3; ++row) {
      stored.Read(from + int64_t{row} * w.strides[2], w.strides[3], 3, output + lane,
                  &taps[row * 3][lane], kPackedAtOnce);
    }
  }
  double coefficients[kWinogradCoefficients][kPackedAtOnce];
  TransformWeights(taps, coefficients);
  for (int i = 0; i < kWinogradCoefficients; ++i, weights += step) {
    for (int lane = 0; lane < count; ++lane) {
      weights[lane] = static_cast<float>(coefficients[i][lane]);
    }
  }
}

void Pack(const OpCall& op, const PackedWeights& packed) {
  const TensorView& w = op.Input(In::kWeights);
  const portable::StoredWeights stored =
      portable::StoredWeightsOf(op, In::kWeights, In::kWeightsScale);
  const int64_t inputs = packed.shape.depth;
  for (int g = 0; g < packed.group_count; ++g) {
    const ChannelGroup& group = packed.groups[g];
    for (int64_t k = 0; k < inputs; ++k) {
      float* weights = packed.PackedOf(group) + k * group.width;
      for (int m = 0; m < group.channels; m += kPackedAtOnce) {
        const int left = group.channels - m;
        PackOutputs(w, stored, group.first + m, left < kPackedAtOnce ? left : kPackedAtOnce, k,
                    weights + m, inputs * group.width);
      }
    }
  }
}

struct Operands {
  const float* x;
  const float* residual;
  float* y;
};

/// Contains tiles [first, first + count) of some convolutions' channels, and the memory for their
/// coefficients.
struct Block {
  int first;
  int count;
  int first_group;
  int end_group;
  int source;          ///< the first input channel
  int channels;        ///< of the input
  int64_t input_step;  ///< floats from coefficient to coefficient
  float* inputs;
  float* products;
};

TileOrigin OriginOf(const Winograd& state, int tile) {
  return TileOriginOf(tile, state.tile_rows, state.tile_columns, kWinogradOutputs);
}

/// Points at the pixels of an input tile, from row `top` and column `left` on.
void FindPixels(const ConvGeometry& g, const float* image, int64_t top, int64_t left,
                const float* zeros, const float** rows) {
  const bool is_inside = top >= 0 && left >= 0 && top + kInputTile <= g.in_extent[0] &&
                         left + kInputTile <= g.in_extent[1];
  const float* row = image + top * g.x.row + left * g.x.pixel;
  for (int r = 0; r < kInputTile; ++r, row += g.x.row) {
    for (int c = 0; c < kInputTile; ++c) {
      *rows++ = is_inside ? row + c * g.x.pixel : g.Input(image, top + r, left + c, zeros);
    }
  }
}

/// Contains groups [first, end) of packed weights, whose products lie side by side.
struct Bundle {
  int first;
  int end;
  int width;
};

void TransformInputs(const Winograd& state, const Operands& operands, const Block& block) {
  const ConvGeometry& g = state.geometry;
  const int64_t channels = state.blocks.padded_inputs;
  const float* rows[kWinogradCoefficients];
  WinogradInputCall call;
  call.rows = rows;
  call.channels = block.channels;
  call.coefficient_step = block.input_step;
  for (int t = 0; t < block.count; ++t) {
    const TileOrigin origin = OriginOf(state, block.first + t);
    FindPixels(g, operands.x + origin.image * g.x.image + block.source, origin.row - g.pads[0],
               origin.column - g.pads[1], state.packed->zeros, rows);
    call.coefficients = block.inputs + t * channels;
    state.packed->routines->winograd_input(call);
  }
}

/// Lets tiles that read the weights of group `first` ask for those of the next coefficient, where
/// these may lie beyond the second-level cache.
void LookAhead(const PackedWeights& packed, const ChannelGroup& group, int steps, TileCall& call) {
  const int64_t all = int64_t{packed.shape.outputs} * packed.shape.depth * kWinogradCoefficients;
  if (all * int64_t{sizeof(float)} <= kManyWeightBytes) return;
  const int lines = kAheadDepth * group.width / kLineFloats;
  call.ahead_step = kLineFloats;
  call.ahead_lines = (lines + steps - 1) / steps;
}

/// Computes products[i][t][m] = sum over k of inputs[i][t][k] * weights[i][k][m] for one group, or
/// for `groups` even ones, whose products lie side by side in rows of `width`.
void Multiply(const Winograd& state, const Block& block, const ChannelGroup& group, int groups,
              int width, float* products) {
  const int64_t channels = state.blocks.padded_inputs;
  const float* inputs = block.inputs + (group.source - block.source);
  const float* rows[kMostPixels];
  TileCall call = {};
  call.rows = rows;
  call.bias = state.packed->zeros;
  call.in_order = true;  // how tiles are cut into blocks depends on the number of threads
  call.y_step = width;
  call.taps = 1;
  call.depth = state.packed->shape.depth;
  call.weight_step = group.weight_step;
  call.width = group.width;
  call.channels = group.width;
  call.low = -__builtin_inff();
  call.high = __builtin_inff();
  const int most = state.packed->routines->tile_pixels;
  const int steps = (block.count + most - 1) / most;
  const int larger = block.count % steps;  // steps of one more tile, first
  const int64_t weights_step = call.depth * group.weight_step;
  if (groups == 1) LookAhead(*state.packed, group, steps, call);
  const int64_t asked = call.depth / kAheadDepth * call.ahead_lines * kLineFloats;  // by one tile
  // One call takes many tiles of one group, or many groups of a few tiles.
  if (groups > 1) {
    call.x_next = state.packed->source_next;
    call.weights_next = state.packed->weights_next;
    call.y_next = group.width;
  }
  for (int i = 0; i < kWinogradCoefficients; ++i) {
    call.weights = group.weights + i * weights_step;
    if (call.ahead_lines > 0) call.ahead = call.weights + weights_step;
    for (int step = 0, first = 0; step < steps;) {
      const int alike = step < larger ? larger : steps;  // to where steps have as many tiles
      const int taken = groups > 1 ? 1 : alike - step;
      call.repeats = groups > 1 ? groups : taken;
      call.pixels = block.count / steps + (step < larger ? 1 : 0);
      for (int p = 0; p < call.pixels; ++p) {
        rows[p] = inputs + i * block.input_step + (int64_t{first} + p) * channels;
      }
      if (groups == 1) {
        call.x_next = call.pixels * channels;
        call.y_next = int64_t{call.pixels} * width;
      }
      call.y = products + i * WinogradBlocks::StepOf(int64_t{block.count} * width) +
               int64_t{first} * width;
      state.packed->routines->tile(call);
      call.ahead += asked * taken;
      first += call.pixels * taken;
      step += taken;
    }
  }
}

/// Computes the outputs of groups [first, end) from products that lie side by side.
void TransformOutputs(const Winograd& state, const Bundle& bundle, const Operands& operands,
                      const Block& block) {
  const ConvGeometry& g = state.geometry;
  const ChannelGroup* groups = state.packed->groups;
  WinogradOutputCall call;
  call.residual = nullptr;
  call.coefficient_step = WinogradBlocks::StepOf(int64_t{block.count} * bundle.width);
  call.residual_row_step = g.residual.row;
  call.residual_step = g.residual.pixel;
  call.y_row_step = g.y.row;
  call.y_step = g.y.pixel;
  call.low = state.epilogue.low;
  call.high = state.epilogue.high;
  for (int t = 0; t < block.count; ++t) {
    const TileOrigin origin = OriginOf(state, block.first + t);
    const int rows = g.out_extent[0] - origin.row;
    const int columns = g.out_extent[1] - origin.column;
    call.y_rows = rows < kWinogradOutputs ? rows : kWinogradOutputs;
    call.y_columns = columns < kWinogradOutputs ? columns : kWinogradOutputs;
    float* y =
        operands.y + origin.image * g.y.image + origin.row * g.y.row + origin.column * g.y.pixel;
    const float* residual = operands.residual;
    if (residual != nullptr) {
      residual += origin.image * g.residual.image + origin.row * g.residual.row +
                  origin.column * g.residual.pixel;
    }
    call.coefficients = block.products + int64_t{t} * bundle.width;
    for (int index = bundle.first; index < bundle.end;) {
      const ChannelGroup& group = groups[index];
      call.bias = group.bias;
      call.width = 0;
      // Groups without padding are as good as one.
      do {
        call.channels = call.width + groups[index].channels;
        call.width += groups[index].width;
        ++index;
      } while (index < bundle.end && call.channels == call.width);
      call.y = y + group.first;
      if (residual != nullptr) call.residual = residual + group.first;
      state.packed->routines->winograd_output(call);
      call.coefficients += call.width;
      if (state.epilogue.is_clamp) continue;
      for (int r = 0; r < call.y_rows; ++r) {
        Activate(*state.packed->routines, state.activation, call.y + r * call.y_row_step,
                 call.y_step, call.y_columns, call.channels);
      }
    }
  }
}

/// Returns the bundle that begins with a group.
Bundle BundleFrom(const Winograd& state, const Block& block, int first) {
  const ChannelGroup* groups = state.packed->groups;
  Bundle bundle = {first, first, 0};
  do {
    bundle.width += groups[bundle.end++].width;
  } while (bundle.end < block.end_group && state.blocks.bundles_slices);
  return bundle;
}

void RunBlock(const Winograd& state, const Operands& operands, const Block& block) {
  const PackedWeights& packed = *state.packed;
  TransformInputs(state, operands, block);
  for (int first = block.first_group; first < block.end_group;) {
    const Bundle bundle = BundleFrom(state, block, first);
    const bool are_even = packed.even_groups >= bundle.end;
    float* products = block.products;
    for (int g = first; g < bundle.end;) {
      const int groups = are_even ? bundle.end - g : 1;
      Multiply(state, block, packed.groups[g], groups, bundle.width, products);
      products += packed.groups[g].width;
      g += groups;
    }
    TransformOutputs(state, bundle, operands, block);
    first = bundle.end;
  }
}

/// Returns block `index` of `blocks` of a slice, without its memory.
Block BlockOf(const Winograd& state, int slice, int index, int blocks) {
  const WinogradBlocks& sizes = state.blocks;
  const GroupedShape& shape = state.packed->shape;
  const int64_t tiles = sizes.tiles;
  const int first = shape.convolutions * slice / sizes.slices;
  const int end = shape.convolutions * (slice + 1) / sizes.slices;
  const int groups = state.packed->group_count / shape.convolutions;
  Block block = {};
  block.first = static_cast<int>(tiles * index / blocks);
  block.count = static_cast<int>(tiles * (index + 1) / blocks) - block.first;
  block.first_group = first * groups;
  block.end_group = end * groups;
  block.source = first * shape.depth;
  block.channels = (end - first) * shape.depth;
  block.input_step = WinogradBlocks::StepOf(int64_t{block.count} * sizes.padded_inputs);
  return block;
}

}  // namespace

Status WinogradCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(WinogradSupports(setup.op)));
  TENON_RETURN_IF_ERROR(CheckDenseChannels(setup.op));
  TENON_RETURN_IF_ERROR(CheckConvConstants(setup.op));
  const size_t needed = WinogradWorkspaceBytes(setup.op, 1);
  TENON_ENSURE(setup.workspace_bytes >= needed, kUnsupported, "workspace of {0} bytes, {1} needed",
               static_cast<int64_t>(setup.workspace_bytes), static_cast<int64_t>(needed));
  return OkStatus();
}

Status WinogradLoad(const KernelSetup& setup, void** shared) {
  const OpCall& op = setup.op;
  const TensorView& w = op.Input(In::kWeights);
  const GroupedShape shape = {w.dims[0], op.AttributesAs<ConvAttributes>().group, w.dims[1],
                              kWinogradCoefficients};
  const float* bias = op.HasInput(In::kBias) ? op.Input(In::kBias).As<const float>() : nullptr;
  PackedWeights* packed = nullptr;
  TENON_RETURN_IF_ERROR(MakePackedWeights(shape, nullptr, bias, &packed));
  Pack(op, *packed);
  *shared = packed;
  return OkStatus();
}

Status WinogradRun(const KernelCall& call) {
  Winograd state;
  state.packed = static_cast<const PackedWeights*>(call.state);
  state.geometry = GeometryOf(call.op);
  state.blocks = WinogradBlocksOf(call.op);
  state.activation = call.op.AttributesAs<ConvAttributes>().activation;
  state.epilogue = MakeEpilogue(state.activation);
  state.tile_rows = (state.geometry.out_extent[0] + kWinogradOutputs - 1) / kWinogradOutputs;
  state.tile_columns = (state.geometry.out_extent[1] + kWinogradOutputs - 1) / kWinogradOutputs;
  Operands operands;
  operands.x = call.op.Input(In::kX).As<const float>();
  operands.residual =
      call.op.HasInput(In::kResidual) ? call.op.Input(In::kResidual).As<const float>() : nullptr;
  operands.y = call.op.Output().As<float>();

  const WinogradBlocks& sizes = state.blocks;
  const int threads =
      call.parallel != nullptr && state.geometry.Work() >= kSmallWork ? call.parallel->threads : 1;
  int parts = threads < sizes.MostParts() ? threads : sizes.MostParts();
  const auto fits = [&](int count) {
    return static_cast<size_t>(count) * sizes.PartBytes(count) <= call.workspace_bytes;
  };
  while (parts > 1 && !fits(parts)) --parts;  // WinogradCheck: one fits
  const size_t part_bytes = sizes.PartBytes(parts);
  // As many blocks as fit the cache, and the same number for every part.
  int blocks = (sizes.tiles + sizes.block_tiles - 1) / sizes.block_tiles;
  if (sizes.slices % parts != 0) blocks = RoundUp(blocks, parts);
  if (blocks > sizes.tiles) blocks = sizes.tiles;
  const int64_t pieces = int64_t{blocks} * sizes.slices;
  ParallelFor(parts > 1 ? call.parallel : nullptr, parts, [&](int begin, int end) {
    for (int part = begin; part < end; ++part) {
      auto* memory = reinterpret_cast<float*>(static_cast<uint8_t*>(call.workspace) +
                                              static_cast<size_t>(part) * part_bytes);
      // A slice's weights stay in the cache from block to block.
      for (int64_t piece = pieces * part / parts; piece < pieces * (part + 1) / parts; ++piece) {
        Block block = BlockOf(state, static_cast<int>(piece / blocks),
                              static_cast<int>(piece % blocks), blocks);
        block.inputs = memory;
        block.products = memory + kWinogradCoefficients * block.input_step;
        RunBlock(state, operands, block);
      }
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::f32

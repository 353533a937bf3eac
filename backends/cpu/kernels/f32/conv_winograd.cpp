// Computes 3x3 convolutions of stride 1 by Winograd's F(4x4, 3x3): for each pair of channels, 36
// products on a 6x6 input tile do the work of 144.
//
// Tiles are cut into blocks whose coefficients stay in the second-level cache. Each part of the
// work (one per thread) takes whole blocks and has a piece of the workspace: the block's input
// coefficients [36][tiles][channels], and the products of one group of output channels
// [36][tiles][width].
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

/// Computes G g G transposed in double, so that the weights' transform adds no significant error.
void TransformWeights(const float* w, double* coefficients) {
  constexpr double kG[kInputTile][3] = {{1.0 / 4, 0, 0},
                                        {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                        {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                        {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                        {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                        {0, 0, 1}};
  double half[kInputTile][3] = {};
  for (int r = 0; r < kInputTile; ++r) {
    for (int c = 0; c < 3; ++c) {
      for (int k = 0; k < 3; ++k) half[r][c] += kG[r][k] * static_cast<double>(w[k * 3 + c]);
    }
  }
  for (int r = 0; r < kInputTile; ++r) {
    for (int c = 0; c < kInputTile; ++c) {
      double sum = 0.0;
      for (int k = 0; k < 3; ++k) sum += half[r][k] * kG[c][k];
      coefficients[r * kInputTile + c] = sum;
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
    float* weights = packed.PackedOf(group);
    for (int m = 0; m < group.channels; ++m) {
      for (int64_t k = 0; k < inputs; ++k) {
        double coefficients[kWinogradCoefficients];
        const int64_t output = group.first + m;
        const int64_t from = output * w.strides[0] + k * w.strides[1];
        float taps[9];
        for (int row = 0; row < 3; ++row) {
          stored.Read(from + int64_t{row} * w.strides[2], w.strides[3], 3, output, taps + row * 3,
                      1);
        }
        TransformWeights(taps, coefficients);
        for (int i = 0; i < kWinogradCoefficients; ++i) {
          weights[(i * inputs + k) * group.width + m] = static_cast<float>(coefficients[i]);
        }
      }
    }
  }
}

struct Operands {
  const float* x;
  const float* residual;
  float* y;
};

/// Contains tiles [first, first + count) and the memory for their coefficients.
struct Block {
  int first;
  int count;
  float* inputs;
  float* products;
};

TileOrigin OriginOf(const Winograd& state, int tile) {
  return TileOriginOf(tile, state.tile_rows, state.tile_columns, kWinogradOutputs);
}

void TransformInputs(const Winograd& state, const Operands& operands, const Block& block) {
  const ConvGeometry& g = state.geometry;
  const int64_t channels = state.blocks.padded_inputs;
  const float* rows[kWinogradCoefficients];
  WinogradInputCall call;
  call.rows = rows;
  call.channels = g.inputs;
  call.coefficient_step = channels * block.count;
  for (int t = 0; t < block.count; ++t) {
    const TileOrigin origin = OriginOf(state, block.first + t);
    const float* image = operands.x + origin.image * g.x.image;
    for (int r = 0; r < kInputTile; ++r) {
      for (int c = 0; c < kInputTile; ++c) {
        rows[r * kInputTile + c] = g.Input(image, origin.row - g.pads[0] + r,
                                           origin.column - g.pads[1] + c, state.packed->zeros);
      }
    }
    call.coefficients = block.inputs + t * channels;
    state.packed->routines->winograd_input(call);
  }
}

/// Computes products[i][t][m] = sum over k of inputs[i][t][k] * weights[i][k][m] for one group.
void Multiply(const Winograd& state, const ChannelGroup& group, const Block& block) {
  const int64_t channels = state.blocks.padded_inputs;
  const float* rows[kMostPixels];
  TileCall call = {};
  call.rows = rows;
  call.bias = state.packed->zeros;
  call.in_order = true;  // how tiles are cut into blocks depends on the number of threads
  call.y_step = group.width;
  call.taps = 1;
  call.depth = state.geometry.inputs;
  call.weight_step = group.weight_step;
  call.width = group.width;
  call.channels = group.width;
  call.low = -__builtin_inff();
  call.high = __builtin_inff();
  const int most = state.packed->routines->tile_pixels;
  const int steps = (block.count + most - 1) / most;
  const int larger = block.count % steps;  // steps of one more tile, first
  const int64_t weights_step = call.depth * group.weight_step;
  // Each coefficient's tiles ask for the weights of the next, where these may lie beyond the
  // second-level cache.
  const int64_t weights = weights_step * kWinogradCoefficients * state.packed->group_count;
  const bool are_far = weights * int64_t{sizeof(float)} > kManyWeightBytes;
  if (are_far) {
    const int lines = kAheadDepth * group.width / kLineFloats;
    call.ahead_step = kLineFloats;
    call.ahead_lines = (lines + steps - 1) / steps;
  }
  const int64_t asked = call.depth / kAheadDepth * call.ahead_lines * kLineFloats;  // by one tile
  for (int i = 0; i < kWinogradCoefficients; ++i) {
    call.weights = group.weights + i * weights_step;
    if (are_far) call.ahead = call.weights + weights_step;
    int first = 0;
    for (const int repeats : {larger, steps - larger}) {
      if (repeats == 0) continue;
      call.repeats = repeats;
      call.pixels = block.count / steps + (first == 0 && larger > 0 ? 1 : 0);
      for (int p = 0; p < call.pixels; ++p) {
        rows[p] = block.inputs + (int64_t{i} * block.count + first + p) * channels;
      }
      call.x_next = call.pixels * channels;
      call.y_next = int64_t{call.pixels} * group.width;
      call.y = block.products + (int64_t{i} * block.count + first) * group.width;
      state.packed->routines->tile(call);
      if (are_far) call.ahead += asked * repeats;
      first += call.pixels * repeats;
    }
  }
}

void TransformOutputs(const Winograd& state, const ChannelGroup& group, const Operands& operands,
                      const Block& block) {
  const ConvGeometry& g = state.geometry;
  WinogradOutputCall call;
  call.bias = group.bias;
  call.residual = nullptr;
  call.coefficient_step = int64_t{block.count} * group.width;
  call.residual_row_step = g.residual.row;
  call.residual_step = g.residual.pixel;
  call.y_row_step = g.y.row;
  call.y_step = g.y.pixel;
  call.width = group.width;
  call.channels = group.channels;
  call.low = state.epilogue.low;
  call.high = state.epilogue.high;
  for (int t = 0; t < block.count; ++t) {
    const TileOrigin origin = OriginOf(state, block.first + t);
    const int rows = g.out_extent[0] - origin.row;
    const int columns = g.out_extent[1] - origin.column;
    call.y_rows = rows < kWinogradOutputs ? rows : kWinogradOutputs;
    call.y_columns = columns < kWinogradOutputs ? columns : kWinogradOutputs;
    call.coefficients = block.products + t * group.width;
    call.y = operands.y + origin.image * g.y.image + origin.row * g.y.row +
             origin.column * g.y.pixel + group.first;
    if (operands.residual != nullptr) {
      call.residual = operands.residual + origin.image * g.residual.image +
                      origin.row * g.residual.row + origin.column * g.residual.pixel + group.first;
    }
    state.packed->routines->winograd_output(call);
    if (state.epilogue.is_clamp) continue;
    for (int r = 0; r < call.y_rows; ++r) {
      Activate(*state.packed->routines, state.activation, call.y + r * call.y_row_step, call.y_step,
               call.y_columns, group.channels);
    }
  }
}

void RunBlock(const Winograd& state, const Operands& operands, const Block& block) {
  TransformInputs(state, operands, block);
  for (int g = 0; g < state.packed->group_count; ++g) {
    const ChannelGroup& group = state.packed->groups[g];
    Multiply(state, group, block);
    TransformOutputs(state, group, operands, block);
  }
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
  const GroupedShape shape = {w.dims[0], 1, w.dims[1], kWinogradCoefficients};
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
  int parts = threads < kMostWinogradParts ? threads : kMostWinogradParts;
  if (parts > sizes.tiles) parts = sizes.tiles;
  const auto fits = [&](int count) {
    return static_cast<size_t>(count) * sizes.PartBytes(count) <= call.workspace_bytes;
  };
  while (parts > 1 && !fits(parts)) --parts;  // WinogradCheck: one fits
  const size_t part_bytes = sizes.PartBytes(parts);
  // As many blocks as fit the cache, and the same number for every part.
  int blocks = (sizes.tiles + sizes.block_tiles - 1) / sizes.block_tiles;
  blocks = RoundUp(blocks, parts);
  if (blocks > sizes.tiles) blocks = sizes.tiles;
  const int64_t tiles = sizes.tiles;
  ParallelFor(parts > 1 ? call.parallel : nullptr, parts, [&](int begin, int end) {
    for (int part = begin; part < end; ++part) {
      auto* memory = reinterpret_cast<float*>(static_cast<uint8_t*>(call.workspace) +
                                              static_cast<size_t>(part) * part_bytes);
      const auto first_block = static_cast<int>(int64_t{blocks} * part / parts);
      const auto end_block = static_cast<int>(int64_t{blocks} * (part + 1) / parts);
      for (int b = first_block; b < end_block; ++b) {
        Block block;
        block.first = static_cast<int>(tiles * b / blocks);
        block.count = static_cast<int>(tiles * (b + 1) / blocks) - block.first;
        block.inputs = memory;
        block.products =
            memory + int64_t{kWinogradCoefficients} * block.count * sizes.padded_inputs;
        RunBlock(state, operands, block);
      }
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::f32

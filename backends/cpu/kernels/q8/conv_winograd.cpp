// Computes quantized 3x3 convolutions of stride 1 by Winograd's F(4x4, 3x3), exactly: for each pair
// of channels, 36 products of 16-bit numbers on a 6x6 input tile do the work of 144.
//
// It pays where products of bytes have no instruction of their own; elsewhere the weights are
// packed and run as those of other convolutions.
//
// Each part of the work (one per thread) takes whole blocks of tiles and has a piece of the
// workspace.
#include <cstddef>

#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "backends/cpu/caps/q8_winograd_caps.hpp"
#include "backends/cpu/kernels/q8/conv_weights.hpp"
#include "backends/cpu/kernels/q8/gemm_rows.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "backends/cpu/kernels/winograd_tiles.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/conv_geometry.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = QuantizedGemmInput;
constexpr int kInputTile = 6;
constexpr int kTaps = 9;
constexpr int64_t kTileSums = int64_t{kWinogradOutputs} * kWinogradOutputs * kWinogradWidth;
/// A sum that comes back from products which are 576 times as large is less than 2^25.
constexpr int64_t kMostMagnitudes = ((int64_t{1} << 25) - 1) / 255;

/// Describes one execution.
struct Winograd {
  const PackedGemm* packed;
  const WinogradRoutines* routines;
  GemmEpilogue epilogue;
  ConvGeometry geometry;
  WinogradCut cut;
  const uint8_t* x;
  uint8_t* y;
  uint8_t flip;  ///< makes x's bytes u8
  int tile_rows;
  int tile_columns;
};

/// Computes G g G transposed, where each row of G is multiplied by its denominator.
void TransformWeights(const int32_t* w, int16_t* coefficients) {
  constexpr int32_t kG[kInputTile][3] = {{1, 0, 0}, {-1, -1, -1}, {-1, 1, -1},
                                         {1, 2, 4}, {1, -2, 4},   {0, 0, 1}};
  int32_t half[kInputTile][3] = {};
  for (int r = 0; r < kInputTile; ++r) {
    for (int c = 0; c < 3; ++c) {
      for (int k = 0; k < 3; ++k) half[r][c] += kG[r][k] * w[k * 3 + c];
    }
  }
  for (int r = 0; r < kInputTile; ++r) {
    for (int c = 0; c < kInputTile; ++c) {
      int32_t sum = 0;
      for (int k = 0; k < 3; ++k) sum += half[r][k] * kG[c][k];
      coefficients[r * kInputTile + c] = static_cast<int16_t>(sum);
    }
  }
}

/// Reads weights less their zero points.
class WeightReader {
 public:
  explicit WeightReader(const OpCall& op) : w_(op.Input(In::kWeights)), op_(op) {}

  /// Reads the nine of a pair of channels; returns the sum of their sizes.
  int64_t Read(int output, int input, int32_t* to) const {
    const int32_t zero_point = ZeroPointOf(output);
    int64_t magnitudes = 0;
    for (int tap = 0; tap < kTaps; ++tap) {
      const int64_t at = output * int64_t{w_.strides[0]} + input * int64_t{w_.strides[1]} +
                         tap / 3 * int64_t{w_.strides[2]} + tap % 3 * int64_t{w_.strides[3]};
      to[tap] = ByteAt(w_, at) - zero_point;
      magnitudes += to[tap] < 0 ? -to[tap] : to[tap];
    }
    return magnitudes;
  }

 private:
  static int32_t ByteAt(const TensorView& view, int64_t at) {
    return view.dtype == DType::kI8 ? view.As<const int8_t>()[at] : view.As<const uint8_t>()[at];
  }
  [[nodiscard]] int32_t ZeroPointOf(int output) const {
    if (!op_.HasInput(In::kWeightsZeroPoint)) return 0;
    const TensorView& zero_points = op_.Input(In::kWeightsZeroPoint);
    return ByteAt(zero_points, zero_points.dims[0] == 1 ? 0 : output);
  }

  const TensorView& w_;
  const OpCall& op_;
};

/// Returns the pairs of input channels before part `part` of `parts`.
int PairsBefore(int pairs, int part, int parts) {
  return static_cast<int>(int64_t{pairs} * part / parts);
}

/// Returns into how few parts the input channels are cut so that no sum of one is too large: a
/// power of two, so that parts lie inside those of fewer, whose sums were small enough.
int DepthParts(const OpCall& op, const WinogradCut& cut) {
  const WeightReader reader(op);
  const int inputs = op.Input(In::kX).dims[1];
  const int pairs = cut.numbers / 2;
  int parts = 1;
  for (int m = 0; m < op.Output().dims[1]; ++m) {
    for (int part = 0; part < parts; ++part) {
      const int end = PairsBefore(pairs, part + 1, parts) * 2;
      int64_t magnitudes = 0;
      for (int k = PairsBefore(pairs, part, parts) * 2; k < end && k < inputs; ++k) {
        int32_t taps[kTaps];
        magnitudes += reader.Read(m, k, taps);
      }
      if (magnitudes <= kMostMagnitudes) continue;
      parts *= 2;
      part = -1;
    }
  }
  return parts;
}

/// The order is [16 output channels][coefficient][pair of input channels][16][2].
void PackCoefficients(const OpCall& op, const WinogradCut& cut, int16_t* to) {
  const WeightReader reader(op);
  const int inputs = op.Input(In::kX).dims[1];
  const int64_t step = int64_t{cut.numbers} * kWinogradWidth;
  for (int m = 0; m < op.Output().dims[1]; ++m) {
    int16_t* channel = to + m / kWinogradWidth * kWinogradCoefficients * step;
    for (int k = 0; k < inputs; ++k) {
      int32_t taps[kTaps];
      int16_t coefficients[kWinogradCoefficients];
      reader.Read(m, k, taps);
      TransformWeights(taps, coefficients);
      const int place = (k / 2 * kWinogradWidth + m % kWinogradWidth) * 2 + k % 2;
      for (int i = 0; i < kWinogradCoefficients; ++i) channel[i * step + place] = coefficients[i];
    }
  }
}

/// Contains tiles [first, first + count) and the memory for their coefficients.
struct Block {
  int first;
  int count;
  int64_t input_step;  ///< numbers from one coefficient of the inputs to the next
  int16_t* inputs;
  int32_t* products;
  int32_t* sums;
};

TileOrigin OriginOf(const Winograd& state, int tile) {
  return TileOriginOf(tile, state.tile_rows, state.tile_columns, kWinogradOutputs);
}

void TransformInputs(const Winograd& state, const Block& block) {
  const ConvGeometry& g = state.geometry;
  const uint8_t* pixels[kWinogradCoefficients];
  WinogradInputCall call;
  call.pixels = pixels;
  call.zero_points = state.packed->padding;
  call.flip = state.flip;
  call.channels = g.inputs;
  call.step = block.input_step;
  for (int t = 0; t < block.count; ++t) {
    const TileOrigin origin = OriginOf(state, block.first + t);
    const uint8_t* image = state.x + origin.image * g.x.image;
    for (int r = 0; r < kInputTile; ++r) {
      const int64_t h = origin.row - g.pads[0] + r;
      for (int c = 0; c < kInputTile; ++c) {
        const int64_t w = origin.column - g.pads[1] + c;
        const bool inside = h >= 0 && w >= 0 && h < g.in_extent[0] && w < g.in_extent[1];
        pixels[r * kInputTile + c] =
            inside ? image + h * g.x.row + w * g.x.pixel : state.packed->padding;
      }
    }
    call.to = block.inputs + int64_t{t} * state.cut.numbers;
    state.routines->input(call);
  }
}

/// Computes the block's sums of 16 output channels, whose coefficients are `weights`.
void SumBlock(const Winograd& state, const Block& block, const int16_t* weights) {
  const int pairs = state.cut.numbers / 2;
  const int parts = state.packed->depth_parts;
  WinogradProductCall product;
  product.x_step = state.cut.numbers;
  product.tiles = block.count;
  WinogradOutputCall output;
  output.products = block.products;
  output.tiles = block.count;
  output.sums = block.sums;
  for (int part = 0; part < parts; ++part) {
    const int before = PairsBefore(pairs, part, parts);
    product.pairs = PairsBefore(pairs, part + 1, parts) - before;
    for (int i = 0; i < kWinogradCoefficients; ++i) {
      product.x = block.inputs + i * block.input_step + 2 * before;
      product.weights = weights + (int64_t{i} * pairs + before) * 2 * kWinogradWidth;
      product.sums = block.products + int64_t{i} * block.count * kWinogradWidth;
      state.routines->product(product);
    }
    output.is_first = part == 0;
    state.routines->output(output);
  }
}

void StoreBlock(const Winograd& state, const Block& block, const GemmGroup& group, int place) {
  const ConvGeometry& g = state.geometry;
  WinogradStoreCall call;
  call.group = &group;
  call.epilogue = &state.epilogue;
  call.place = place;
  call.row_step = g.y.row;
  call.pixel_step = g.y.pixel;
  for (int t = 0; t < block.count; ++t) {
    const TileOrigin origin = OriginOf(state, block.first + t);
    const int rows = g.out_extent[0] - origin.row;
    const int columns = g.out_extent[1] - origin.column;
    call.rows = rows < kWinogradOutputs ? rows : kWinogradOutputs;
    call.columns = columns < kWinogradOutputs ? columns : kWinogradOutputs;
    call.sums = block.sums + t * kTileSums;
    call.y = state.y + origin.image * g.y.image + origin.row * g.y.row + origin.column * g.y.pixel +
             group.first + place;
    state.routines->store(call);
  }
}

void RunBlock(const Winograd& state, const Block& block) {
  TransformInputs(state, block);
  const int64_t step = int64_t{kWinogradCoefficients} * state.cut.numbers * kWinogradWidth;
  const int16_t* weights = state.packed->coefficients;
  for (int g = 0; g < state.packed->group_count; ++g) {
    const GemmGroup& group = state.packed->groups[g];
    for (int place = 0; place < group.width; place += kWinogradWidth, weights += step) {
      SumBlock(state, block, weights);
      StoreBlock(state, block, group, place);
    }
  }
}

/// Cuts the piece of the workspace of one part.
void SetMemory(const Winograd& state, uint8_t* memory, Block& block) {
  const int tiles = state.cut.block_tiles;
  block.input_step = state.cut.CoefficientStep();
  const int64_t input_bytes = kWinogradCoefficients * block.input_step * 2;
  block.inputs = reinterpret_cast<int16_t*>(memory);
  block.products = reinterpret_cast<int32_t*>(memory + RoundUp<int64_t>(input_bytes, kLineBytes));
  block.sums = block.products + int64_t{kWinogradCoefficients} * tiles * kWinogradWidth;
}

/// Returns how many parts the workspace has room for, at least one.
int PartsOf(const KernelCall& call, const Winograd& state) {
  if (call.parallel == nullptr || state.geometry.Work() < kSmallWork) return 1;
  int parts =
      call.parallel->threads < kMostWinogradParts ? call.parallel->threads : kMostWinogradParts;
  if (parts > state.cut.tiles) parts = state.cut.tiles;
  while (parts > 1 && state.cut.OfParts(parts).BlockBytes() * static_cast<size_t>(parts) >
                          call.workspace_bytes - kLineBytes) {
    --parts;
  }
  return parts;
}

void RunWinograd(const KernelCall& call, Winograd& state) {
  uint8_t* const memory = FirstLine(call.workspace);
  const int64_t tiles = state.cut.tiles;
  const int parts = PartsOf(call, state);
  state.cut = state.cut.OfParts(parts);
  // As many blocks as fit the cache, and the same number for every part.
  int blocks = RoundUp(CeilDiv(state.cut.tiles, state.cut.block_tiles), parts);
  if (blocks > state.cut.tiles) blocks = state.cut.tiles;
  ParallelFor(parts > 1 ? call.parallel : nullptr, parts, [&](int begin, int end) {
    for (int part = begin; part < end; ++part) {
      Block block = {};
      SetMemory(state, memory + static_cast<size_t>(part) * state.cut.BlockBytes(), block);
      const auto first_block = static_cast<int>(int64_t{blocks} * part / parts);
      const auto end_block = static_cast<int>(int64_t{blocks} * (part + 1) / parts);
      for (int b = first_block; b < end_block; ++b) {
        block.first = static_cast<int>(tiles * b / blocks);
        block.count = static_cast<int>(tiles * (b + 1) / blocks) - block.first;
        RunBlock(state, block);
      }
    }
  });
}

}  // namespace

Status WinogradCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(WinogradSupports(setup.op)));
  TENON_RETURN_IF_ERROR(ConvCheck(setup));
  const size_t needed = WinogradWorkspaceBytes(setup.op, 1);
  TENON_ENSURE(setup.workspace_bytes >= needed, kUnsupported, "workspace of {0} bytes, {1} needed",
               static_cast<int64_t>(setup.workspace_bytes), static_cast<int64_t>(needed));
  return OkStatus();
}

Status WinogradLoad(const KernelSetup& setup, void** shared) {
  const OpCall& op = setup.op;
  if (GemmRoutinesOf(ChosenInstructions()).winograd == nullptr) return ConvLoad(setup, shared);
  const WinogradCut cut = WinogradCutOf(op);
  GemmShape shape = ConvShapeOf(ConvGeometryOf(op));
  shape.coefficients = int64_t{kWinogradCoefficients} * cut.numbers * cut.outputs;
  TENON_RETURN_IF_ERROR(PackGemm(op, shape, ConvWeightsView(op),
                                 op.AttributesAs<QuantizedConvAttributes>().output,
                                 op.Input(In::kX).dims[1], 1, /*may_sum_x=*/false, shared));
  auto& packed = *static_cast<PackedGemm*>(*shared);
  PackCoefficients(op, cut, packed.coefficients);
  packed.depth_parts = DepthParts(op, cut);
  return OkStatus();
}

Status WinogradRun(const KernelCall& call) {
  const auto& packed = *static_cast<const PackedGemm*>(call.state);
  if (packed.coefficients == nullptr) return ConvRun(call);
  const OpCall& op = call.op;
  Winograd state;
  state.packed = &packed;
  state.routines = packed.routines->winograd;
  state.epilogue = MakeEpilogue(packed, op.AttributesAs<QuantizedConvAttributes>().output);
  state.geometry = ConvGeometryOf(op);
  state.cut = WinogradCutOf(op);
  state.x = op.Input(In::kX).As<const uint8_t>();
  state.y = op.Output().As<uint8_t>();
  state.flip = FlipToU8(op.Input(In::kX).dtype);
  state.tile_rows = CeilDiv(state.geometry.out_extent[0], kWinogradOutputs);
  state.tile_columns = CeilDiv(state.geometry.out_extent[1], kWinogradOutputs);
  RunWinograd(call, state);
  return OkStatus();
}

}  // namespace tenon::cpu::q8

// Models convolutions and matrix products by register tiles (backends/cpu/kernels/f32).
#include <algorithm>
#include <cstring>

#include "backends/cpu/caps/f32_caps.hpp"
#include "converter/cost/features_kernels.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::converter::features {
namespace {

using cpu::f32::kWidthStep;

/// Returns the largest register tile of the instruction set.
cpu::f32::Tile LargestTile(const MachineFacts& machine) {
  if (machine.vector_lanes >= 16) return cpu::f32::kAvx512Tile;
  if (machine.vector_lanes >= 8) return cpu::f32::kAvx2Tile;
  return cpu::f32::kGenericTile;
}

/// Describes one matrix product as the tiles see it.
struct Gemm {
  int64_t pixels = 0;
  int64_t pixels_per_row = 0;  ///< tiles do not cross rows of so many pixels; 0: they may
  int64_t outputs = 0;         ///< of each convolution
  int64_t convolutions = 1;    ///< independent groups
  int64_t depth = 0;           ///< input channels of each
  int64_t taps = 1;
  bool pointwise = true;
  bool sums_in_parts = true;
};

/// Returns the cycles that one step along the depth takes in a tile: multiply-adds of 16 lanes, or
/// their latency if too few of them are in flight. Of a register of more lanes than channels are
/// left some are empty.
double StepCycles(int64_t pixels, int64_t width, int64_t lanes, bool sums_in_parts) {
  constexpr double kLatency = 4;
  double parts = 1;
  if (sums_in_parts && pixels == 1) parts = 4;
  if (sums_in_parts && (pixels == 2 || pixels == 3)) parts = 2;
  const auto filled = static_cast<double>(RoundUp<int64_t>(width, lanes));
  const double products = static_cast<double>(pixels) * filled / 16;
  return std::max({products, kLatency / parts, static_cast<double>(pixels) / 2});
}

/// Returns true where the last group has 24 channels, and tiles have fewer pixels for it.
bool HasWideTile(const Gemm& gemm, const MachineFacts& machine) {
  const cpu::f32::Tile largest = LargestTile(machine);
  return largest.pixels == cpu::f32::kAvx2Tile.pixels && gemm.convolutions == 1 &&
         gemm.outputs > largest.width && gemm.outputs <= cpu::f32::kMostWideOutputs &&
         gemm.outputs % largest.width == kWidthStep;
}

struct TileSums {
  double cycles = 0;          ///< of multiply-adds
  double tiles = 0;           ///< tile calls
  double narrow_outputs = 0;  ///< elements that go through a buffer, one by one
  double weight_bytes = 0;    ///< packed
  double streamed_bytes = 0;  ///< weights that tiles read from beyond the first-level cache
};

/// Sums over the tiles of one pass over `pixels`, `count` times.
void AddTiles(const Gemm& gemm, const MachineFacts& machine, int64_t pixels, double count,
              TileSums& sums) {
  const cpu::f32::Tile largest = LargestTile(machine);
  const bool wide = HasWideTile(gemm, machine);
  const int64_t tiles =
      CeilDiv<int64_t>(pixels, wide ? cpu::f32::kAvx2WideTile.pixels : largest.pixels);
  const int64_t longer = pixels % tiles;  // tiles that have one pixel more than the others
  const auto depth = static_cast<double>(gemm.depth * gemm.taps);
  const int64_t lanes = machine.vector_lanes >= 16 ? 16 : 8;
  int64_t channels = 0;
  for (int64_t done = 0; done < gemm.outputs; done += channels) {
    const int64_t left = gemm.outputs - done;
    channels = std::min<int64_t>(largest.width, left);
    if (wide && left == cpu::f32::kAvx2WideTile.width) channels = left;
    const int64_t width = RoundUp<int64_t>(channels, kWidthStep);
    for (int kind = 0; kind < 2; ++kind) {
      const int64_t tile_pixels = pixels / tiles + kind;
      const auto tile_count = static_cast<double>(kind == 0 ? tiles - longer : longer) * count;
      sums.cycles += tile_count * depth * StepCycles(tile_pixels, width, lanes, gemm.sums_in_parts);
    }
    const double calls = static_cast<double>(tiles) * count;
    sums.tiles += calls;
    if (channels != width) {
      sums.narrow_outputs += static_cast<double>(pixels * channels) * count;
    }
    const double group_bytes = static_cast<double>(width) * depth * 4;
    sums.streamed_bytes += calls * group_bytes;
  }
}

TileSums SumTiles(const Gemm& gemm, const MachineFacts& machine) {
  TileSums sums;
  const int64_t row = gemm.pixels_per_row > 0 ? gemm.pixels_per_row : gemm.pixels;
  const double rows =
      static_cast<double>(gemm.pixels) / static_cast<double>(std::max<int64_t>(row, 1));
  AddTiles(gemm, machine, row, rows * static_cast<double>(gemm.convolutions), sums);
  const int64_t width = RoundUp<int64_t>(gemm.outputs, kWidthStep);
  sums.weight_bytes = static_cast<double>(width * gemm.convolutions * gemm.depth * gemm.taps) * 4;
  return sums;
}

double GroupBytes(const Gemm& gemm, const MachineFacts& machine) {
  const int64_t width = std::min<int64_t>(LargestTile(machine).width, gemm.outputs);
  return static_cast<double>(width * gemm.depth * gemm.taps) * 4;
}

void AddGemm(const Context& context, const Gemm& gemm) {
  const TileSums sums = SumTiles(gemm, context.machine);
  const auto l1 = static_cast<double>(context.machine.cache_bytes[0]);
  const bool groups_first = sums.weight_bytes > static_cast<double>(cpu::f32::kManyWeightBytes);
  const double kept = groups_first ? GroupBytes(gemm, context.machine) : sums.weight_bytes;
  CostTerms& terms = context.terms;
  terms.Add("tile_cycles", sums.cycles);
  terms.Add("tiles", sums.tiles);
  terms.Add("narrow_outputs", sums.narrow_outputs);
  terms.Add("streamed_weight_bytes", kept > 0.75 * l1 ? sums.streamed_bytes : 0.0);
  terms.Add("weight_bytes", sums.weight_bytes);
  const double fills = gemm.pointwise ? 0.0 : static_cast<double>(gemm.pixels);
  const double groups =
      groups_first ? static_cast<double>(CeilDiv<int64_t>(gemm.outputs, cpu::f32::kMostWidth))
                   : 1.0;
  // With pixels outside, all groups and convolutions share them.
  const double uses = groups_first ? static_cast<double>(gemm.convolutions) * groups : 1.0;
  terms.Add("pointers", fills * static_cast<double>(gemm.taps) * uses);
  // Every group of channels reads these inputs again.
  const auto x_bytes = static_cast<double>(BytesOf(context.call().Input(GemmInput::kX)));
  terms.Add("reread_bytes", groups_first && x_bytes > l1 ? x_bytes * (groups - 1) : 0.0);
}

Gemm GemmOfConv(const OpCall& call) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& w = call.Input(GemmInput::kWeights);
  const TensorView& y = call.Output();
  Gemm gemm;
  gemm.pixels = int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
  gemm.convolutions = attributes.group;
  gemm.outputs = w.dims[0] / attributes.group;
  gemm.depth = w.dims[1];
  gemm.taps = ConvTaps(call);
  gemm.pointwise = gemm.taps == 1 && attributes.strides[0] == 1 && attributes.strides[1] == 1 &&
                   y.dims[2] == call.Input(GemmInput::kX).dims[2] &&
                   y.dims[3] == call.Input(GemmInput::kX).dims[3];
  return gemm;
}

}  // namespace

void TileConv(const Context& context) {
  const OpCall& call = context.call();
  Gemm gemm = GemmOfConv(call);
  if (cpu::f32::HasColumnsAsOne(ConvGeometryOf(call))) {
    const TensorView& w = call.Input(GemmInput::kWeights);
    const TensorView& y = call.Output();
    gemm.taps = w.dims[2];
    gemm.depth *= w.dims[3];
    gemm.pointwise = gemm.taps == 1 && gemm.pixels == y.dims[3];
  }
  AddGemm(context, gemm);
  const bool scattered =
      call.Output().rank == 4 && call.Output().dims[1] > 1 && call.Output().strides[1] != 1;
  context.terms.Add("scattered_outputs",
                    scattered ? static_cast<double>(call.Output().Elements()) : 0.0);
  context.terms.Add("residual",
                    call.HasInput(ConvInput::kResidual)
                        ? static_cast<double>(call.Input(ConvInput::kResidual).Elements())
                        : 0.0);
  AddActivation(context, call.AttributesAs<ConvAttributes>().activation);
  AddActivationTraffic(context);
}

void TileMatMul(const Context& context) {
  const OpCall& call = context.call();
  const TensorView& a = call.Input(GemmInput::kX);
  Gemm gemm;
  gemm.depth = a.dims[a.rank - 1];
  gemm.pixels = a.Elements() / std::max<int64_t>(gemm.depth, 1);
  gemm.outputs = call.Output().dims[call.Output().rank - 1];
  AddGemm(context, gemm);
  AddActivation(context, call.AttributesAs<MatMulAttributes>().activation);
  AddActivationTraffic(context);
}

void ComputedConv(const Context& context) {
  context.terms.Add("packed",
                    static_cast<double>(context.call().Input(GemmInput::kWeights).Elements()));
  TileConv(context);
}

void ComputedMatMul(const Context& context) {
  const OpCall& call = context.call();
  const TensorView& a = call.Input(GemmInput::kX);
  const cpu::f32::BatchedRows rows = cpu::f32::BatchedRowsOf(call);
  Gemm gemm;
  gemm.depth = a.dims[a.rank - 1];
  gemm.pixels = rows.rows;
  gemm.outputs = call.Output().dims[call.Output().rank - 1];
  gemm.convolutions = rows.batches;
  AddGemm(context, gemm);
  const bool in_place = cpu::f32::ReadsComputedInPlace(call);
  const auto factors = static_cast<double>(rows.batches * gemm.depth * gemm.outputs);
  context.terms.Add("packed", in_place ? 0.0 : factors);
  context.terms.Add("matrices", static_cast<double>(rows.batches));
  AddActivation(context, call.AttributesAs<MatMulAttributes>().activation);
  AddActivationTraffic(context);
}

namespace {

/// Returns the input rows that a first layer copies, in all images: those of each band.
int64_t CopiedRows(const OpCall& call) {
  const TensorView& y = call.Output();
  const int64_t kernel_rows = call.Input(GemmInput::kWeights).dims[2];
  const int64_t stride = call.AttributesAs<ConvAttributes>().strides[0];
  const int64_t bands = CeilDiv<int64_t>(y.dims[2], cpu::f32::FirstBandRows(call));
  return y.dims[0] * (bands * kernel_rows + (y.dims[2] - bands) * stride);
}

}  // namespace

void FirstConv(const Context& context) {
  const OpCall& call = context.call();
  Gemm gemm = GemmOfConv(call);
  // Where rows are shorter than a tile, tiles go on in the next row.
  const int32_t columns = call.Output().dims[3];
  const bool has_short_rows = columns < LargestTile(context.machine).pixels;
  gemm.pixels_per_row = columns * int64_t{has_short_rows ? cpu::f32::FirstBandRows(call) : 1};
  gemm.depth *= gemm.taps;
  gemm.taps = 1;
  const TileSums sums = SumTiles(gemm, context.machine);
  CostTerms& terms = context.terms;
  terms.Add("tile_cycles", sums.cycles);
  terms.Add("tiles", sums.tiles);
  terms.Add("narrow_outputs", sums.narrow_outputs);
  const TensorView& x = call.Input(GemmInput::kX);
  const auto row_reads = static_cast<double>(CopiedRows(call));
  const double copied = row_reads * static_cast<double>(int64_t{x.dims[1]} * x.dims[3]);
  const bool runs = x.strides[3] == 1 || x.strides[1] == 1;
  terms.Add("copied_rows", row_reads * static_cast<double>(x.strides[1] == 1 ? 1 : x.dims[1]));
  terms.Add("copied", runs ? copied : 0.0);
  terms.Add("copied_apart", runs ? 0.0 : copied);
  const bool scattered = call.Output().dims[1] > 1 && call.Output().strides[1] != 1;
  terms.Add("scattered_outputs", scattered ? static_cast<double>(call.Output().Elements()) : 0.0);
  AddActivation(context, call.AttributesAs<ConvAttributes>().activation);
  AddActivationTraffic(context);
}

void Winograd(const Context& context) {
  const OpCall& call = context.call();
  const TensorView& x = call.Input(GemmInput::kX);
  const TensorView& y = call.Output();
  const cpu::f32::WinogradBlocks cut = cpu::f32::WinogradBlocksOf(call);
  const int64_t tiles = cut.tiles;
  const int64_t blocks = CeilDiv(tiles, cut.block_tiles);
  Gemm gemm;
  gemm.convolutions = call.AttributesAs<ConvAttributes>().group;
  gemm.depth = call.Input(GemmInput::kWeights).dims[1];
  gemm.outputs = y.dims[1] / gemm.convolutions;
  gemm.sums_in_parts = false;
  TileSums sums;
  for (int kind = 0; kind < 2; ++kind) {
    const int64_t block_tiles = tiles / blocks + kind;
    const int64_t count = kind == 0 ? blocks - tiles % blocks : tiles % blocks;
    if (count == 0) continue;
    AddTiles(gemm, context.machine, block_tiles,
             static_cast<double>(kWinogradCoefficients * count * gemm.convolutions), sums);
  }
  const double weight_bytes =
      static_cast<double>(CeilDiv<int64_t>(gemm.outputs, kWidthStep) * kWidthStep *
                          gemm.convolutions * gemm.depth * kWinogradCoefficients * 4);
  CostTerms& terms = context.terms;
  const auto tile_count = static_cast<double>(tiles);
  const double groups = tile_count * static_cast<double>(gemm.convolutions);
  terms.Add("tile_cycles", sums.cycles);
  terms.Add("tiles", sums.tiles);
  terms.Add("input_tiles", tile_count * static_cast<double>(cut.slices));
  terms.Add("input_vectors",
            tile_count * static_cast<double>(CeilDiv<int64_t>(x.dims[1], cpu::f32::kChannelBlock)));
  terms.Add("output_tiles",
            groups * static_cast<double>(CeilDiv<int64_t>(gemm.outputs, cpu::f32::kMostWidth)));
  terms.Add("output_vectors",
            groups * static_cast<double>(CeilDiv<int64_t>(gemm.outputs, cpu::f32::kChannelBlock)));
  terms.Add("residual",
            call.HasInput(ConvInput::kResidual) ? static_cast<double>(y.Elements()) : 0.0);
  // Every block of tiles reads all weights.
  const double passes = static_cast<double>(blocks);
  terms.Add("weight_bytes", weight_bytes);
  const auto l2 = static_cast<double>(context.machine.cache_bytes[1]);
  const double streamed = weight_bytes * (passes - 1);
  const bool large = weight_bytes > 0.5 * l2;
  terms.Add("streamed_weight_bytes", large ? 0.0 : streamed);
  terms.Add("streamed_far_weight_bytes", large ? streamed : 0.0);
  AddActivation(context, call.AttributesAs<ConvAttributes>().activation);
  AddActivationTraffic(context);
}

void LibraryGemm(const Context& context) {
  const OpCall& call = context.call();
  const TensorView& y = call.Output();
  const TensorView& b = call.Input(GemmInput::kWeights);
  double depth = 0;
  double rows = 0;
  double columns = 0;
  if (context.operands.kind() == OpKind::kConv) {
    const Gemm gemm = GemmOfConv(call);
    depth = static_cast<double>(gemm.depth * gemm.taps);
    rows = static_cast<double>(gemm.pixels);
    columns = static_cast<double>(RoundUp<int64_t>(gemm.outputs, 16) * gemm.convolutions);
    // The library's loops for few outputs are others, and many times slower.
    constexpr int64_t kFewOutputs = 8;
    if (gemm.outputs < kFewOutputs) context.terms.model += " narrow";
  } else {
    const auto& attributes = call.AttributesAs<MatMulAttributes>();
    depth = b.dims[attributes.transpose_b != 0 ? b.rank - 1 : b.rank - 2];
    columns = static_cast<double>(RoundUp<int64_t>(y.dims[y.rank - 1], 16));
    const int64_t all_rows = y.Elements() / std::max(y.dims[y.rank - 1], 1);
    rows = static_cast<double>(all_rows);
  }
  context.terms.Add("padded_products", depth * rows * columns);
  context.terms.Add("padded_outputs", rows * columns);
  context.terms.Add("operand_elements",
                    static_cast<double>(call.Input(GemmInput::kX).Elements() + b.Elements()));
  const int64_t matrices =
      context.operands.kind() == OpKind::kConv || y.rank < 2
          ? 1
          : y.Elements() / std::max<int64_t>(int64_t{y.dims[y.rank - 1]} * y.dims[y.rank - 2], 1);
  context.terms.Add("matrices", static_cast<double>(matrices));
  AddActivationTraffic(context);
}

void Attention(const Context& context) {
  using In = AttentionInput;
  const OpCall& call = context.call();
  const TensorView& q = call.Input(In::kQ);
  const TensorView& v = call.Input(In::kV);
  const int64_t keys = v.dims[v.rank - 2];
  Gemm scores;
  scores.depth = q.dims[q.rank - 1];
  scores.pixels = q.dims[q.rank - 2];
  scores.outputs = keys;
  scores.convolutions = q.Elements() / std::max<int64_t>(scores.depth * scores.pixels, 1);
  Gemm weighed = scores;
  weighed.depth = keys;
  weighed.outputs = v.dims[v.rank - 1];
  const TileSums first = SumTiles(scores, context.machine);
  const TileSums second = SumTiles(weighed, context.machine);
  const auto rows = static_cast<double>(scores.convolutions * scores.pixels);
  CostTerms& terms = context.terms;
  terms.Add("tile_cycles", first.cycles + second.cycles);
  terms.Add("tiles", first.tiles + second.tiles);
  terms.Add("rows", rows);
  terms.Add("exponentials", rows * static_cast<double>(keys));
  terms.Add("masked", call.HasInput(In::kMask) ? rows * static_cast<double>(keys) : 0.0);
  terms.Add("packed",
            static_cast<double>(scores.convolutions * keys * (scores.depth + weighed.outputs)));
  AddActivationTraffic(context);
}

void PortableGemm(const Context& context) {
  const OpCall& call = context.call();
  const TensorView& y = call.Output();
  double depth = 0;
  if (context.operands.kind() == OpKind::kConv) {
    const Gemm gemm = GemmOfConv(call);
    depth = static_cast<double>(gemm.depth * gemm.taps);
  } else {
    const TensorView& a = call.Input(GemmInput::kX);
    const auto& attributes = call.AttributesAs<MatMulAttributes>();
    depth = a.dims[attributes.transpose_a != 0 ? a.rank - 2 : a.rank - 1];
  }
  const auto outputs = static_cast<double>(y.Elements());
  context.terms.Add("products", depth * outputs);
  context.terms.Add("outputs", outputs);
  context.terms.Add("weights", static_cast<double>(call.Input(GemmInput::kWeights).Elements()));
  AddActivationTraffic(context);
}

}  // namespace tenon::converter::features

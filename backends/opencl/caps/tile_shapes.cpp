#include "backends/opencl/caps/tile_shapes.hpp"

#include <cstring>

#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

constexpr TileShape kNarrow = {"7x8", 7, 8, 1};
constexpr TileShape kUsual = {"7x16", 7, 16, 1};
constexpr TileShape kThreeHalves = {"7x24", 7, 8, 3};
constexpr TileShape kWide = {"7x32", 7, 16, 2};
constexpr TileShape kRow = {"1x64", 1, 16, 4};
constexpr TileShape kSmall = {"4x8", 4, 4, 2};
constexpr TileShape kSmallRow = {"1x4", 1, 4, 1};
// Slices, depth, and a work-item's pixels and outputs. The fewer tiles there are, the more slices
// keep a GPU busy.
constexpr TileShape kLocalLarge = {"64x64-local", 64, 64, 1, 1, 16, 8, 4};
constexpr TileShape kLocalUsual = {"32x32-local", 32, 32, 1, 2, 16, 4, 4};
constexpr TileShape kLocalHalf = {"16x32-local", 16, 32, 1, 8, 16, 4, 4};
constexpr TileShape kLocalSmall = {"8x32-local", 8, 32, 1, 8, 16, 2, 4};
constexpr TileShape kLocalRow = {"1x32-local", 1, 32, 1, 16, 8, 1, 4};

static_assert(kLocalLarge.width() == kRow.width());
static_assert(kLocalUsual.width() == kWide.width() && kLocalHalf.width() == kWide.width() &&
              kLocalSmall.width() == kWide.width() && kLocalRow.width() == kWide.width());

constexpr TileShape kShapes[] = {kNarrow,     kUsual,     kThreeHalves, kWide,
                                 kRow,        kSmall,     kSmallRow,    kLocalLarge,
                                 kLocalUsual, kLocalHalf, kLocalSmall,  kLocalRow};

int64_t Padded(int32_t outputs, const TileShape& shape) {
  return (int64_t{outputs} + shape.width() - 1) / shape.width() * shape.width();
}

const TileShape& CpuTile(const TileProblem& problem) {
  // Measured on PoCL with AVX-512, beside each other: 7x16 reaches 90 to 95 % of the peak and is
  // never far behind the others. One row has too few sums in flight to hide the latency of a
  // multiply-add, but in 1x64.
  constexpr int64_t kFewPixels = 2;
  if (problem.pixels <= kFewPixels && problem.outputs > kUsual.width()) return kRow;
  if (problem.outputs <= kNarrow.width()) return kNarrow;
  // A block that is half full costs as much as a whole one.
  const int64_t usual = Padded(problem.outputs, kUsual);
  return Padded(problem.outputs, kThreeHalves) * 5 < usual * 4 ? kThreeHalves : kUsual;
}

int64_t TilesOf(const TileProblem& problem, const TileShape& shape) {
  return (problem.pixels + shape.pixels - 1) / shape.pixels *
         (Padded(problem.outputs, shape) / shape.width());
}

/// Measured on an H200 with 132 compute units (docs/results-opencl.md): among these, the choice
/// takes 1.04 times the least time of 49 tiles, over 19 shapes.
const TileShape& LocalTile(const TileProblem& problem) {
  constexpr int64_t kManyPixels = 4096;
  constexpr int64_t kManySums = 1'500'000;
  if (problem.pixels >= kManyPixels && problem.outputs >= kLocalLarge.width() &&
      problem.pixels * problem.outputs >= kManySums) {
    return kLocalLarge;
  }
  constexpr int64_t kFewPixels = 2;
  if (problem.pixels <= kFewPixels) return kLocalRow;
  constexpr int64_t kManyTiles = 99;
  if (TilesOf(problem, kLocalUsual) >= kManyTiles) return kLocalUsual;
  return 3 * TilesOf(problem, kLocalHalf) >= 2 * kManyTiles ? kLocalHalf : kLocalSmall;
}

}  // namespace

TileProblem ConvTileProblem(const OpCall& conv) {
  const TensorView& y = conv.Output();
  TileProblem problem;
  problem.pixels = int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
  problem.outputs = y.dims[1] / conv.AttributesAs<ConvAttributes>().group;
  problem.channels = conv.Input(ConvInput::kWeights).dims[1];
  return problem;
}

TileProblem MatMulTileProblem(const OpCall& matmul) {
  const TensorView& a = matmul.Input(0);
  const TensorView& y = matmul.Output();
  TileProblem problem;
  problem.outputs = y.dims[y.rank - 1];
  problem.pixels = problem.outputs > 0 ? y.Elements() / problem.outputs : 0;
  problem.channels = a.dims[a.rank - 1 - matmul.AttributesAs<MatMulAttributes>().transpose_a];
  return problem;
}

Span<const TileShape> TileShapes() { return kShapes; }

const TileShape& TileFor(const char* variant, const TileProblem& problem, TileDevice device) {
  const TileShape* named = FindTile(variant);
  if (named != nullptr && named->IsLocal() && device != TileDevice::kLocalMemory) {
    return named->width() == kWide.width() ? kWide : kRow;
  }
  if (named != nullptr) return *named;
  if (device == TileDevice::kCpu) return CpuTile(problem);
  if (device == TileDevice::kLocalMemory) return LocalTile(problem);
  return problem.pixels <= 2 ? kSmallRow : kSmall;
}

int TileVariants(const OpCall&, const char** names, int most) {
  int count = 0;
  for (const TileShape& shape : kShapes) {
    if (count < most) names[count++] = shape.name;
  }
  return count;
}

const TileShape* FindTile(const char* variant) {
  if (variant == nullptr) return nullptr;
  for (const TileShape& shape : kShapes) {
    if (std::strcmp(shape.name, variant) == 0) return &shape;
  }
  return nullptr;
}

}  // namespace tenon::opencl

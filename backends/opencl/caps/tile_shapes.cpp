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

constexpr TileShape kShapes[] = {kNarrow, kUsual, kThreeHalves, kWide, kRow, kSmall, kSmallRow};

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

const TileShape& DefaultTile(const TileProblem& problem, bool is_cpu) {
  if (is_cpu) return CpuTile(problem);
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

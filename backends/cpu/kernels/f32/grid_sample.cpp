// Samples images linearly at the points of a grid. Each item of work is a block of points of one
// image.
#include <cstdint>

#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "runtime/ops/grid_positions.hpp"

namespace tenon::cpu::f32 {
namespace {

/// Is the number of sums of four pixels that cost about as much as waking a thread; finding the
/// pixels of a point costs as much as some.
constexpr int64_t kSmallWork = 16'384;
constexpr int64_t kOfPoint = 4;

/// A block of points of one image.
struct Block {
  float places[2][kGridBlock];  ///< down and across
  float* y;                     ///< the first point's
  int64_t y_points[kGridBlock];
};

/// Points of an image; where their rows follow each other in memory, they are one.
struct Points {
  int columns;
  int64_t grid_row;
  int64_t grid_step;  ///< floats from point to point
  int64_t grid_down;  ///< floats from a point's place across to that down
  int64_t y_row;
  int64_t y_step;
};

Points PointsOf(const TensorView& grid, const TensorView& y) {
  Points points = {y.dims[3],       grid.strides[1], grid.strides[2],
                   grid.strides[3], y.strides[2],    y.strides[3]};
  const bool is_one_row = y.dims[2] == 1 || (points.grid_row == points.columns * points.grid_step &&
                                             points.y_row == points.columns * points.y_step);
  if (is_one_row) points.columns *= y.dims[2];
  return points;
}

/// Takes points of one row, of which the first is at `from`, to `places`.
void TakePlaces(const Points& points, const float* from, int count, int at, Block& block) {
  float* const down = block.places[0] + at;
  float* const across = block.places[1] + at;
  if (points.grid_step == 2 && points.grid_down == 1) {  // compilers make vectors of this
    for (int i = 0; i < count; ++i) {
      across[i] = from[2 * i];
      down[i] = from[2 * i + 1];
    }
    return;
  }
  for (int i = 0; i < count; ++i) {
    across[i] = from[i * points.grid_step];
    down[i] = from[i * points.grid_step + points.grid_down];
  }
}

/// Takes `count` points from number `first` of an image on, whose grid and result are at `grid` and
/// `y`.
void FillBlock(const Points& points, const float* grid, float* y, int first, int count,
               Block& block) {
  int64_t row = first / points.columns;
  int64_t column = first % points.columns;
  const int64_t start = row * points.y_row + column * points.y_step;
  block.y = y + start;
  for (int done = 0; done < count; ++row, column = 0) {
    const int64_t left = points.columns - column;
    const int run = left < count - done ? static_cast<int>(left) : count - done;
    TakePlaces(points, grid + row * points.grid_row + column * points.grid_step, run, done, block);
    const int64_t base = row * points.y_row + column * points.y_step - start;
    for (int i = 0; i < run; ++i) block.y_points[done + i] = base + i * points.y_step;
    done += run;
  }
}

GridSampleAxis AxisOf(const OpCall& op, int axis) {
  const GridAxis from = GridAxisOf(op, axis);
  return {from.low, from.range, static_cast<float>(from.size - 1),
          op.Input(GridSampleInput::kX).strides[2 + axis]};
}

}  // namespace

Status GridSampleCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(GridSampleSupports(setup.op)));
  const TensorView& x = setup.op.Input(GridSampleInput::kX);
  int64_t last = 0;
  for (int i = 2; i < 4; ++i) last += int64_t{x.dims[i] - 1} * x.strides[i];
  TENON_ENSURE(last <= INT32_MAX, kUnsupported,
               "the vector grid_sample takes images of at most 2^31 elements");
  return OkStatus();
}

Status GridSampleRun(const KernelCall& call) {
  const auto& routines = *static_cast<const Routines*>(call.state);
  const TensorView& x = call.op.Input(GridSampleInput::kX);
  const TensorView& grid = call.op.Input(GridSampleInput::kGrid);
  const TensorView& y = call.op.Output();
  const int each = y.dims[2] * y.dims[3];
  const int pieces = (each + kGridBlock - 1) / kGridBlock;
  const int channels = y.dims[1];
  const bool is_small = int64_t{y.dims[0]} * each * (channels + kOfPoint) < kSmallWork;
  const Points points = PointsOf(grid, y);
  const bool is_even = points.columns == each || points.y_row == points.columns * points.y_step;
  ParallelFor(is_small ? nullptr : call.parallel, y.dims[0] * pieces, [&](int begin, int end) {
    Block block = {};
    GridSampleCall part = {};
    part.places[0] = block.places[0];
    part.places[1] = block.places[1];
    part.y_points = block.y_points;
    part.y_step = is_even ? y.strides[3] : 0;
    part.x_channel = x.strides[1];
    part.y_channel = y.strides[1];
    part.axes[0] = AxisOf(call.op, 0);
    part.axes[1] = AxisOf(call.op, 1);
    part.channels = channels;
    part.padding = call.op.AttributesAs<GridSampleAttributes>().padding;
    for (int item = begin; item < end; ++item) {
      const int64_t image = item / pieces;
      const int first = item % pieces * kGridBlock;
      part.points = each - first < kGridBlock ? each - first : kGridBlock;
      FillBlock(points, grid.As<const float>() + image * grid.strides[0],
                y.As<float>() + image * y.strides[0], first, part.points, block);
      part.x = x.As<const float>() + image * x.strides[0];
      part.y = block.y;
      routines.grid_sample(part);
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::f32

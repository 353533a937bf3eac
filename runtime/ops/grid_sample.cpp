#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

/// Floats count up to here, so that the numbers of pixels are exact.
constexpr int32_t kMostPixels = 1 << 24;

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<GridSampleAttributes>();
  const TensorView& x = call.Input(GridSampleInput::kX);
  const TensorView& grid = call.Input(GridSampleInput::kGrid);
  TENON_ENSURE(IsValidEnum(attributes.mode, kResizeModeCount), kInvalidArgument,
               "there is no mode {0}", static_cast<int64_t>(attributes.mode));
  TENON_ENSURE(IsValidEnum(attributes.padding, kGridPaddingCount), kInvalidArgument,
               "there is no padding {0}", static_cast<int64_t>(attributes.padding));
  TENON_ENSURE(IsFlag(attributes.align_corners), kInvalidArgument, "align_corners must be 0 or 1");
  TENON_ENSURE(x.dtype == DType::kF32 && grid.dtype == DType::kF32, kInvalidArgument,
               "images and grid must be f32");
  TENON_ENSURE(x.rank == 4, kInvalidArgument, "images must have rank 4, not {0}", x.rank);
  TENON_ENSURE(grid.rank == 4 && grid.dims[0] == x.dims[0] && grid.dims[3] == 2, kInvalidArgument,
               "the grid must have shape [images, rows, columns, 2]");
  for (int i = 2; i < 4; ++i) {
    TENON_ENSURE(x.dims[i] >= 1 && x.dims[i] <= kMostPixels, kInvalidArgument,
                 "images must have 1 to 2^24 pixels along dimension {0}, not {1}", i, x.dims[i]);
  }
  const int32_t dims[] = {x.dims[0], x.dims[1], grid.dims[1], grid.dims[2]};
  return SetOutput(DType::kF32, Shape(dims, 4), outputs);
}

}  // namespace

constexpr OpRow kGridSampleRow =
    MakeOpRow<GridSampleAttributes>(OpKind::kGridSample, /*min_inputs=*/2, /*max_inputs=*/2, Infer);

}  // namespace tenon

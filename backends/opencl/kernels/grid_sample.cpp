#include <string>

#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

int TapsOf(ResizeMode mode) {
  switch (mode) {
    case ResizeMode::kNearest:
      return 1;
    case ResizeMode::kLinear:
      return 2;
    case ResizeMode::kCubic:
      break;
  }
  return 4;
}

}  // namespace

ProgramChoice GridSampleChoice(const KernelSetup& setup) {
  const auto& attributes = setup.op.AttributesAs<GridSampleAttributes>();
  return {"grid_sample.cl",
          "-DTAPS=" + std::to_string(TapsOf(attributes.mode)) +
              " -DPADDING=" + std::to_string(static_cast<int>(attributes.padding)),
          "grid_sample"};
}

Status GridSampleRun(const KernelCall& call) {
  const TensorView& x = call.op.Input(GridSampleInput::kX);
  const TensorView& grid = call.op.Input(GridSampleInput::kGrid);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  const int vector = static_cast<CommandQueue*>(call.queue)->device().traits().vector_floats;
  const auto points = static_cast<size_t>(y.dims[0]) * static_cast<size_t>(y.dims[2]) *
                      static_cast<size_t>(y.dims[3]);
  const int32_t align_corners = call.op.AttributesAs<GridSampleAttributes>().align_corners;
  return Launch(call)
      .Output()
      .Input(GridSampleInput::kX)
      .Input(GridSampleInput::kGrid)
      .Value(Four(y.dims))
      .Value(Four(y.strides))
      .Value(Four(x.strides))
      .Value(Four(grid.strides))
      .Value(Int4{{x.dims[2], x.dims[3], align_corners, 0}})
      .Enqueue(points * static_cast<size_t>((y.dims[1] + vector - 1) / vector), kRowGroup);
}

}  // namespace tenon::opencl

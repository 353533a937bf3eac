#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/movement/blend.hpp"
#include "runtime/ops/grid_positions.hpp"

namespace tenon::cpu::portable {
namespace {

template <int kTaps>
void Sample(const KernelCall& call) {
  const TensorView& x = call.op.Input(GridSampleInput::kX);
  const TensorView& grid = call.op.Input(GridSampleInput::kGrid);
  const TensorView& y = call.op.Output();
  const GridAxis down = GridAxisOf(call.op, 0);
  const GridAxis across = GridAxisOf(call.op, 1);
  const int channels = y.dims[1];
  const bool is_dense = x.strides[1] == 1 && y.strides[1] == 1;
  constexpr int64_t kOfPoint = 32;
  const int64_t work = kOfPoint + int64_t{channels} * kTaps * kTaps;
  const int points = y.dims[0] * y.dims[2] * y.dims[3];
  ParallelForWork(call.parallel, points, work, [&](int begin, int end) {
    for (int point = begin; point < end; ++point) {
      const ptrdiff_t column = point % y.dims[3];
      const ptrdiff_t row = point / y.dims[3] % y.dims[2];
      const ptrdiff_t image = point / y.dims[3] / y.dims[2];
      const float* place = grid.As<const float>() + image * grid.strides[0] +
                           row * grid.strides[1] + column * grid.strides[2];
      ImageTaps<kTaps> rows;
      ImageTaps<kTaps> columns;
      FindGridTaps(across, place[0], x.strides[3], columns);
      FindGridTaps(down, place[grid.strides[3]], x.strides[2], rows);
      const float* from = x.As<const float>() + image * x.strides[0];
      float* to = y.As<float>() + image * y.strides[0] + row * y.strides[2] + column * y.strides[3];
      if (is_dense) {
        BlendPixel(channels, from, rows, columns, to);
        continue;
      }
      for (ptrdiff_t c = 0; c < channels; ++c) {
        to[c * y.strides[1]] = Blend(from + c * x.strides[1], rows, columns);
      }
    }
  });
}

}  // namespace

Status GridSampleRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  switch (call.op.AttributesAs<GridSampleAttributes>().mode) {
    case ResizeMode::kNearest:
      Sample<1>(call);
      break;
    case ResizeMode::kLinear:
      Sample<2>(call);
      break;
    case ResizeMode::kCubic:
      Sample<4>(call);
      break;
  }
  return OkStatus();
}

}  // namespace tenon::cpu::portable

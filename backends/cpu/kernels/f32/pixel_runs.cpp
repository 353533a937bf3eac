#include "backends/cpu/kernels/f32/pixel_runs.hpp"

#include "runtime/ops/conv_geometry.hpp"

namespace tenon::cpu::f32 {

PixelRuns PixelRuns::OfImages(const TensorView& x, const TensorView& y) {
  PixelRuns runs;
  runs.pixels_ = x.dims[0] * x.dims[2] * x.dims[3];
  if (HasEvenPixels(x, &runs.x_.pixel) && HasEvenPixels(y, &runs.y_.pixel)) {
    runs.width_ = runs.pixels_;
    return runs;
  }
  runs.width_ = x.dims[3];
  runs.height_ = x.dims[2];
  runs.x_ = {x.strides[0], x.strides[2], x.strides[3]};
  runs.y_ = {y.strides[0], y.strides[2], y.strides[3]};
  return runs;
}

PixelRuns PixelRuns::OfRows(const TensorView& x) {
  PixelRuns runs;
  const int count = x.dims[x.rank - 1];
  runs.pixels_ = static_cast<int>(x.Elements() / count);
  runs.width_ = runs.pixels_;
  runs.x_.pixel = runs.y_.pixel = count;
  return runs;
}

PixelRun PixelRuns::Run(int begin, int end) const {
  const int64_t column = begin % width_;
  const int64_t row = begin / width_ % height_;
  const int64_t image = begin / width_ / height_;
  const int left = width_ - static_cast<int>(column);
  PixelRun run;
  run.x = image * x_.image + row * x_.row + column * x_.pixel;
  run.y = image * y_.image + row * y_.row + column * y_.pixel;
  run.x_step = x_.pixel;
  run.y_step = y_.pixel;
  run.pixels = end - begin < left ? end - begin : left;
  return run;
}

}  // namespace tenon::cpu::f32

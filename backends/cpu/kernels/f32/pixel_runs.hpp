// Walks over the pixels of a channels-last image tensor, or the rows of a row-major tensor, in runs
// of equal distances.
#pragma once

#include <cstdint>

#include "runtime/base/tensor_view.hpp"

namespace tenon::cpu::f32 {

/// Gives the positions in both operands; offsets and steps are in floats.
struct PixelRun {
  int64_t x;
  int64_t y;
  int64_t x_step;
  int64_t y_step;
  int pixels;
};

class PixelRuns {
 public:
  /// Makes the runs of x and y of the same dims, of rank 4, in the order N, H, W.
  static PixelRuns OfImages(const TensorView& x, const TensorView& y);
  /// Makes the runs of x and y of the same dims, both row-major.
  static PixelRuns OfRows(const TensorView& x);

  [[nodiscard]] int pixels() const { return pixels_; }

  /// Returns the longest run from pixel `begin` that ends at `end` or before.
  [[nodiscard]] PixelRun Run(int begin, int end) const;

 private:
  struct Strides {
    int64_t image = 0;
    int64_t row = 0;
    int64_t pixel = 0;
  };

  int pixels_ = 0;
  int width_ = 1;   ///< pixels of a run
  int height_ = 1;  ///< runs of an image
  Strides x_;
  Strides y_;
};

}  // namespace tenon::cpu::f32

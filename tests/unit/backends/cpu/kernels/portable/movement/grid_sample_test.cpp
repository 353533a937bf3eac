#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

// The formulas of the ONNX GridSample operator (opset 20), in double precision; a cubic border
// repeats pixels, as in PyTorch and ONNX Runtime.

double Reflect(double x, double low, double high) {
  if (high <= low) return 0;
  while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
  return x;
}

struct Image {
  const std::vector<float>& values;
  const Dims& dims;
  GridSampleAttributes attributes;

  [[nodiscard]] double Low() const { return attributes.align_corners != 0 ? 0.0 : -0.5; }
  [[nodiscard]] double High(size_t axis) const {
    return dims[axis] - (attributes.align_corners != 0 ? 1.0 : 0.5);
  }

  /// A pixel inside or outside.
  [[nodiscard]] double At(int n, int c, double row, double column) const {
    double at[] = {row, column};
    for (size_t i = 0; i < 2; ++i) {
      const double last = dims[2 + i] - 1.0;
      if (attributes.padding == GridPadding::kReflection) {
        at[i] = std::nearbyint(Reflect(at[i], Low(), High(2 + i)));
      }
      if (attributes.padding == GridPadding::kZeros && (at[i] < 0 || at[i] > last)) return 0;
      at[i] = std::min(std::max(at[i], 0.0), last);
    }
    const double index = ((1.0 * n * dims[1] + c) * dims[2] + at[0]) * dims[3] + at[1];
    return static_cast<double>(values[static_cast<size_t>(index)]);
  }

  /// Where a point lies along an axis.
  [[nodiscard]] double PlaceOf(double point, size_t axis) const {
    double place = Low() + (point + 1) / 2 * (High(axis) - Low());
    if (attributes.mode == ResizeMode::kNearest) place = std::nearbyint(place);
    if (attributes.padding == GridPadding::kReflection) return Reflect(place, Low(), High(axis));
    const bool stops =
        attributes.padding == GridPadding::kBorder && attributes.mode == ResizeMode::kLinear;
    return stops ? std::min(std::max(place, 0.0), dims[axis] - 1.0) : place;
  }

  [[nodiscard]] double Weight(double distance) const {
    const double d = std::abs(distance);
    if (attributes.mode == ResizeMode::kLinear) return std::max(0.0, 1 - d);
    constexpr double kA = -0.75;
    if (d <= 1) return (kA + 2) * d * d * d - (kA + 3) * d * d + 1;
    return d < 2 ? kA * d * d * d - 5 * kA * d * d + 8 * kA * d - 4 * kA : 0;
  }

  [[nodiscard]] double Sample(int n, int c, double across, double down) const {
    const double row = PlaceOf(down, 2);
    const double column = PlaceOf(across, 3);
    if (attributes.mode == ResizeMode::kNearest) return At(n, c, row, column);
    double sum = 0;
    for (double i = std::floor(row) - 1; i <= std::floor(row) + 2; ++i) {
      for (double j = std::floor(column) - 1; j <= std::floor(column) + 2; ++j) {
        const double weight = Weight(row - i) * Weight(column - j);
        if (weight != 0) sum += weight * At(n, c, i, j);
      }
    }
    return sum;
  }
};

std::vector<double> NaiveGridSample(const Tensor& x, const Tensor& grid,
                                    const GridSampleAttributes& attributes) {
  const std::vector<float> values = x.Values<float>();
  const std::vector<float> points = grid.Values<float>();
  const Image image = {values, x.dims(), attributes};
  const size_t each = grid.count() / 2 / static_cast<size_t>(grid.dims()[0]);
  std::vector<double> y;
  for (int n = 0; n < x.dims()[0]; ++n) {
    for (int c = 0; c < x.dims()[1]; ++c) {
      for (size_t i = 0; i < each; ++i) {
        const float* point = &points[(static_cast<size_t>(n) * each + i) * 2];
        y.push_back(
            image.Sample(n, c, static_cast<double>(point[0]), static_cast<double>(point[1])));
      }
    }
  }
  return y;
}

/// Points between the halves of pixels, where no rounding decides what is nearest.
Tensor RandomGrid(const Dims& dims, const Dims& image, bool align_corners, Generator& random) {
  Tensor grid(DType::kF32, dims, kAllLayouts[Pick(random, 0, 4)]);
  std::vector<float> points(grid.count());
  for (size_t i = 0; i < points.size(); ++i) {
    const int32_t size = image[3 - i % 2];
    const float range = static_cast<float>(align_corners ? std::max<int32_t>(size - 1, 1) : size);
    const float low = align_corners ? 0.0F : -0.5F;
    const float place = static_cast<float>(Pick(random, -size - 2, 2 * size + 2)) +
                        0.01F * static_cast<float>(Pick(random, -45, 45));
    points[i] = (place - low) / range * 2 - 1;
  }
  grid.Set(points);
  return grid;
}

std::vector<float> Sampled(const Dims& image, const std::vector<float>& values,
                           const std::vector<float>& points,
                           const GridSampleAttributes& attributes) {
  OpFixture op(OpKind::kGridSample);
  const auto count = static_cast<int32_t>(points.size() / 2);
  op.AddInput(Tensor::From(DType::kF32, image, values));
  op.AddInput(Tensor::From(DType::kF32, {1, 1, count, 2}, points));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, image[1], 1, count}));
  REQUIRE(op.Run(attributes).ok());
  return y.Values<float>();
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("GridSample: agrees with the ONNX formulas in every mode, padding and layout") {
  Generator random(1);
  for (int i = 0; i < RandomCases(540); ++i) {
    const Dims from = {Pick(random, 1, 3), Pick(random, 1, 9), Pick(random, 1, 9),
                       Pick(random, 1, 9)};
    const Dims points = {from[0], Pick(random, 1, 5), Pick(random, 1, 20), 2};
    const GridSampleAttributes attributes = {static_cast<ResizeMode>(i % 3),
                                             static_cast<GridPadding>(i / 3 % 3), i / 9 % 2};
    OpFixture op(OpKind::kGridSample);
    const Tensor x = op.AddInput(Random(from, kAllLayouts[Pick(random, 0, 4)], random));
    const Tensor grid =
        op.AddInput(RandomGrid(points, from, attributes.align_corners != 0, random));
    const Tensor y = op.AddOutput(Tensor(DType::kF32, Dims{from[0], from[1], points[1], points[2]},
                                         kAllLayouts[Pick(random, 0, 4)]));
    INFO("case ", i);
    REQUIRE(op.Run(attributes, Pick(random, 1, 3)).ok());
    // Coordinates up to 20 are floats: off by 2e-6, and steep cubics multiply that.
    CHECK(LargestRelativeError(y.Values<float>(), NaiveGridSample(x, grid, attributes)) <= 3e-5);
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("GridSample: halves go to the even pixel") {
  // Places -0.5, 0.5, 1.5, 2.5 and 3.5 of four pixels.
  const std::vector<float> halves = {-1, 0, -0.5F, 0, 0, 0, 0.5F, 0, 1, 0};
  for (const GridPadding padding : {GridPadding::kZeros, GridPadding::kBorder}) {
    const bool is_zeros = padding == GridPadding::kZeros;
    CHECK(Sampled({1, 1, 1, 4}, {1, 2, 3, 4}, halves, {ResizeMode::kNearest, padding, 0}) ==
          std::vector<float>{1, 1, 3, 3, is_zeros ? 0.0F : 4.0F});
  }
}

TEST_CASE("GridSample: far away and infinite points read nothing outside the image") {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  for (const float far : {1e9F, 3e38F, kInfinity, kNan}) {
    for (const float sign : {-1.0F, 1.0F}) {
      for (int i = 0; i < 18; ++i) {
        const GridSampleAttributes attributes = {static_cast<ResizeMode>(i % 3),
                                                 static_cast<GridPadding>(i / 3 % 3), i / 9};
        CAPTURE(i);
        CAPTURE(far);
        const std::vector<float> y =
            Sampled({1, 1, 2, 3}, values, {sign * far, 0.3F, 0.2F, sign * far}, attributes);
        for (const float value : y) {
          // Of cubic weights some are negative.
          CHECK((std::isnan(value) || (value >= -6.0F && value <= 12.0F)));
          if (attributes.padding == GridPadding::kZeros) CHECK(value == 0.0F);
        }
      }
    }
  }
}

TEST_CASE("GridSample: an image of one pixel") {
  for (int i = 0; i < 18; ++i) {
    const GridSampleAttributes attributes = {static_cast<ResizeMode>(i % 3),
                                             static_cast<GridPadding>(i / 3 % 3), i / 9};
    CAPTURE(i);
    const std::vector<float> y = Sampled({1, 2, 1, 1}, {3, 7}, {0, 0, 0.25F, -0.5F}, attributes);
    CHECK(y[0] == doctest::Approx(3));
    CHECK(y[2] == doctest::Approx(7));
  }
}

TEST_CASE("GridSample: the number of threads does not change a bit") {
  for (int mode = 0; mode < kResizeModeCount; ++mode) {
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
      Generator random(2);
      OpFixture op(OpKind::kGridSample);
      op.AddInput(Random({2, 5, 20, 30}, Layout::kChannelsLast, random));
      op.AddInput(Random({2, 41, 23, 2}, Layout::kRowMajor, random, -1.2F, 1.2F));
      const Tensor y = op.AddOutput(Tensor(DType::kF32, {2, 5, 41, 23}, Layout::kRowMajor));
      REQUIRE(op.Run(GridSampleAttributes{static_cast<ResizeMode>(mode)}, threads).ok());
      if (threads == 1) first = y.Values<float>();
      CHECK(y.Values<float>() == first);
    }
  }
}

TEST_CASE("GridSample: nothing gives nothing") {
  for (const Dims& image : {Dims{0, 2, 3, 3}, Dims{1, 0, 3, 3}}) {
    OpFixture op(OpKind::kGridSample);
    op.AddInput(Tensor(DType::kF32, image));
    op.AddInput(Tensor(DType::kF32, {image[0], 2, 2, 2}));
    op.AddOutput(Tensor(DType::kF32, {image[0], image[1], 2, 2}));
    CHECK(op.Run(GridSampleAttributes{}).ok());
  }
}

}  // namespace tenon::cpu::testing

#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

// The formulas of the ONNX Resize operator (opset 17), in double precision.

double Coordinate(CoordinateMode mode, int32_t in, int32_t out, double scale, int32_t o) {
  const double half_pixel = (o + 0.5) / scale - 0.5;
  if (mode == CoordinateMode::kHalfPixel) return half_pixel;
  if (mode == CoordinateMode::kPytorchHalfPixel) return out > 1 ? half_pixel : 0.0;
  if (mode == CoordinateMode::kAsymmetric) return o / scale;
  return out > 1 ? o * (in - 1.0) / (out - 1.0) : 0.0;
}

int32_t NearestOf(NearestMode mode, double x) {
  if (mode == NearestMode::kFloor) return static_cast<int32_t>(std::floor(x));
  if (mode == NearestMode::kCeil) return static_cast<int32_t>(std::ceil(x));
  if (mode == NearestMode::kRoundPreferFloor) return static_cast<int32_t>(std::ceil(x - 0.5));
  return static_cast<int32_t>(std::floor(x + 0.5));
}

double CubicKernel(double a, double distance) {
  const double d = std::abs(distance);
  if (d <= 1.0) return (a + 2.0) * d * d * d - (a + 3.0) * d * d + 1.0;
  if (d < 2.0) return a * d * d * d - 5.0 * a * d * d + 8.0 * a * d - 4.0 * a;
  return 0.0;
}

/// Weight of every input position for output `o` of one axis.
std::vector<double> WeightsOf(const ResizeAttributes& a, size_t axis, int32_t in, int32_t o) {
  std::vector<double> weights(static_cast<size_t>(in), 0.0);
  const double x =
      Coordinate(a.coordinates, in, a.sizes[axis], static_cast<double>(a.scales[axis]), o);
  const auto clamp = [&](int32_t position) {
    return static_cast<size_t>(std::max<int32_t>(0, std::min(in - 1, position)));
  };
  if (a.mode == ResizeMode::kNearest) {
    weights[clamp(NearestOf(a.nearest, x))] = 1.0;
    return weights;
  }
  double sum = 0.0;
  const auto below = static_cast<int32_t>(std::floor(x));
  for (int32_t position = below - 2; position <= below + 3; ++position) {
    const double distance = x - position;
    double weight = a.mode == ResizeMode::kLinear
                        ? std::max(0.0, 1.0 - std::abs(distance))
                        : CubicKernel(static_cast<double>(a.cubic_a), distance);
    const bool outside = position < 0 || position >= in;
    if (a.exclude_outside != 0 && outside) weight = 0.0;
    weights[clamp(position)] += weight;
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// Axis by axis over the whole tensor.
std::vector<double> NaiveResize(const Dims& dims, const ResizeAttributes& a,
                                std::vector<double> values) {
  Dims now = dims;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    size_t inner = 1;
    for (size_t i = axis + 1; i < now.size(); ++i) inner *= static_cast<size_t>(now[i]);
    const auto in = static_cast<size_t>(now[axis]);
    const auto out = static_cast<size_t>(a.sizes[axis]);
    const size_t outer = values.size() / in / inner;
    std::vector<double> next(outer * out * inner, 0.0);
    for (size_t o = 0; o < out; ++o) {
      const auto weights = WeightsOf(a, axis, now[axis], static_cast<int32_t>(o));
      for (size_t i = 0; i < in; ++i) {
        if (weights[i] == 0.0) continue;
        for (size_t outside = 0; outside < outer; ++outside) {
          for (size_t inside = 0; inside < inner; ++inside) {
            next[(outside * out + o) * inner + inside] +=
                weights[i] * values[(outside * in + i) * inner + inside];
          }
        }
      }
    }
    values = next;
    now[axis] = a.sizes[axis];
  }
  return values;
}

ResizeAttributes Attributes(const Dims& from, const Dims& to) {
  ResizeAttributes a;
  a.rank = static_cast<int32_t>(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    a.sizes[i] = to[i];
    a.scales[i] = static_cast<float>(to[i]) / static_cast<float>(from[i]);
  }
  return a;
}

void CheckResize(const Dims& from, const ResizeAttributes& a, Generator& random, double tolerance,
                 int threads = 1) {
  OpFixture op(OpKind::kResize);
  const Tensor x = op.AddInput(Random(from, kAllLayouts[Pick(random, 0, 4)], random));
  const Tensor y = op.AddOutput(
      Tensor(DType::kF32, Dims(a.sizes, a.sizes + a.rank), kAllLayouts[Pick(random, 0, 4)]));
  REQUIRE(op.Run(a, threads).ok());
  const auto values = x.Values<float>();
  CHECK(LargestRelativeError(y.Values<float>(),
                             NaiveResize(from, a, {values.begin(), values.end()})) <= tolerance);
  CHECK(y.GapsIntact());
}

TEST_CASE("Resize: linear and cubic agree with the ONNX formulas in every coordinate mode") {
  Generator random(1);
  for (int i = 0; i < RandomCases(300); ++i) {
    const Dims from = {Pick(random, 1, 2), Pick(random, 1, 20), Pick(random, 1, 9),
                       Pick(random, 1, 9)};
    const Dims to = {from[0], from[1], Pick(random, 1, 20), Pick(random, 1, 40)};
    ResizeAttributes a = Attributes(from, to);
    a.mode = i % 2 == 0 ? ResizeMode::kLinear : ResizeMode::kCubic;
    a.coordinates = static_cast<CoordinateMode>(Pick(random, 0, 3));
    a.cubic_a = Pick(random, 0, 1) == 0 ? -0.5F : -0.75F;
    a.exclude_outside = Pick(random, 0, 1);
    INFO("case ", i);
    // Coordinates up to 9 are floats: off by 1e-6, and steep cubics multiply that.
    CheckResize(from, a, random, 3e-5, Pick(random, 1, 3));
  }
}

TEST_CASE("Resize: nearest by whole factors agrees with the ONNX formulas on any axis") {
  // Whole factors and their inverses: coordinates are exact, so float and double agree on ties.
  Generator random(2);
  for (int i = 0; i < RandomCases(300); ++i) {
    Dims from;
    Dims to;
    for (int32_t k = Pick(random, 1, 5); k > 0; --k) {
      const int32_t factor = 1 << Pick(random, 0, 2);
      const int32_t small = Pick(random, 1, 4);
      const bool up = Pick(random, 0, 1) == 1;
      from.push_back(up ? small : small * factor);
      to.push_back(up ? small * factor : small);
    }
    ResizeAttributes a = Attributes(from, to);
    a.coordinates = static_cast<CoordinateMode>(Pick(random, 0, 3));
    if (a.coordinates == CoordinateMode::kAlignCorners) a.coordinates = CoordinateMode::kHalfPixel;
    a.nearest = static_cast<NearestMode>(Pick(random, 0, 3));
    INFO("case ", i);
    CheckResize(from, a, random, 0.0, Pick(random, 1, 3));
  }
}

TEST_CASE("Resize: nearest of images of many columns and rows agrees with the formulas") {
  Generator random(4);
  const Dims from[] = {
      {1, 3, 20, 40}, {2, 9, 24, 17}, {1, 1, 33, 65}, {40, 36}, {3, 2, 18, 20, 10}};
  for (const Dims& dims : from) {
    for (int i = 0; i < 12; ++i) {
      Dims to = dims;
      for (size_t axis = dims.size() - 2; axis < dims.size(); ++axis) to[axis] *= 2;
      if (i % 3 == 0) to[0] *= 2;
      CheckResize(dims, Attributes(dims, to), random, 0.0, Pick(random, 1, 3));
    }
  }
}

TEST_CASE("Resize: ties fall as the rounding mode says") {
  // Asymmetric by 2: coordinates 0, 0.5, 1, 1.5, of which the halves are ties.
  const auto run = [](NearestMode mode) {
    OpFixture op(OpKind::kResize);
    op.AddInput(Tensor::From<float>(DType::kF32, {3}, {0.0F, 1.0F, 2.0F}));
    const Tensor y = op.AddOutput(Tensor(DType::kF32, {6}));
    ResizeAttributes a = Attributes({3}, {6});
    a.coordinates = CoordinateMode::kAsymmetric;
    a.nearest = mode;
    REQUIRE(op.Run(a).ok());
    return y.Values<float>();
  };
  using Floats = std::vector<float>;
  CHECK(run(NearestMode::kRoundPreferFloor) == Floats{0, 0, 1, 1, 2, 2});
  CHECK(run(NearestMode::kFloor) == Floats{0, 0, 1, 1, 2, 2});
  CHECK(run(NearestMode::kRoundPreferCeil) == Floats{0, 1, 1, 2, 2, 2});
  CHECK(run(NearestMode::kCeil) == Floats{0, 1, 1, 2, 2, 2});
}

TEST_CASE("Resize: align_corners keeps the corners' values") {
  OpFixture op(OpKind::kResize);
  op.AddInput(Tensor::From<float>(DType::kF32, {1, 1, 2, 2}, {1.0F, 2.0F, 3.0F, 4.0F}));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 1, 3, 3}));
  ResizeAttributes a = Attributes({1, 1, 2, 2}, {1, 1, 3, 3});
  a.mode = ResizeMode::kLinear;
  a.coordinates = CoordinateMode::kAlignCorners;
  REQUIRE(op.Run(a).ok());
  CHECK(y.Values<float>() == std::vector<float>{1, 1.5, 2, 2, 2.5, 3, 3, 3.5, 4});
}

template <typename T>
void CheckNearestMoves(DType dtype) {
  OpFixture op(OpKind::kResize);
  op.AddInput(
      Tensor::From<T>(dtype, {1, 2, 1, 2}, {T{1}, T{2}, T{3}, T{4}}, Layout::kChannelsLast));
  const Tensor y = op.AddOutput(Tensor(dtype, {1, 2, 1, 4}, Layout::kChannelsLast));
  REQUIRE(op.Run(Attributes({1, 2, 1, 2}, {1, 2, 1, 4})).ok());
  CHECK(y.Values<T>() == std::vector<T>{T{1}, T{1}, T{2}, T{2}, T{3}, T{3}, T{4}, T{4}});
}

TEST_CASE("Resize: nearest moves elements of every size") {
  CheckNearestMoves<uint8_t>(DType::kU8);
  CheckNearestMoves<int16_t>(DType::kI16);
  CheckNearestMoves<int32_t>(DType::kI32);
  CheckNearestMoves<int64_t>(DType::kI64);
  CheckNearestMoves<double>(DType::kF64);
}

TEST_CASE("Resize: the number of threads does not change a bit") {
  Generator random(3);
  for (const ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kCubic, ResizeMode::kNearest}) {
    for (const Layout layout : {Layout::kChannelsLast, Layout::kRowMajor}) {
      const Tensor x = Random({1, 24, 20, 20}, layout, random);
      std::vector<float> expected;
      for (const int threads : {1, 2, 5}) {
        ResizeAttributes a = Attributes({1, 24, 20, 20}, {1, 24, 47, 53});
        a.mode = mode;
        OpFixture op(OpKind::kResize);
        op.AddInput(x);
        const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 24, 47, 53}, layout));
        REQUIRE(op.Run(a, threads).ok());
        if (expected.empty()) expected = y.Values<float>();
        CHECK(y.Values<float>() == expected);
      }
    }
  }
}

TEST_CASE("Resize: refuses to interpolate other types than f32") {
  OpFixture op(OpKind::kResize);
  op.AddInput(Tensor(DType::kF64, {1, 1, 2, 2}));
  op.AddOutput(Tensor(DType::kF64, {1, 1, 4, 4}));
  ResizeAttributes a = Attributes({1, 1, 2, 2}, {1, 1, 4, 4});
  a.mode = ResizeMode::kLinear;
  CHECK(op.Check(a).code() == StatusCode::kUnsupported);
}

}  // namespace
}  // namespace tenon::cpu::testing

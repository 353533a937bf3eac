#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/reduce/fixed_point.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/quantized_naive.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

/// The attributes of a TFLite softmax of inputs with `scale` (kernels/activations.cc).
QuantizedSoftmaxAttributes FixedPoint(DType dtype, float scale, int32_t axis) {
  QuantizedSoftmaxAttributes a;
  a.softmax.axis = axis;
  int exponent = 0;
  const double mantissa = std::frexp(std::ldexp(static_cast<double>(scale), 26), &exponent);
  a.scale.multiplier = static_cast<int32_t>(std::llround(std::ldexp(mantissa, 31)));
  a.scale.shift = std::min(exponent, 30);
  a.least_difference = -static_cast<int32_t>(std::floor(std::ldexp(31.0, 26 - exponent)));
  a.output.rounding = Rounding::kFixedPoint;
  a.output.to = static_cast<int32_t>(dtype);
  a.output.zero_point = a.output.min = LeastOf(dtype);
  a.output.max = MostOf(dtype);
  return a;
}

Tensor Run(const Tensor& x, const QuantizedSoftmaxAttributes& a, Layout layout, int threads = 1) {
  OpFixture op(OpKind::kQuantizedSoftmax);
  op.AddInput(x);
  const Tensor y = op.AddOutput(Tensor(static_cast<DType>(a.output.to), x.dims(), layout));
  const Status status = op.Run(a, threads);
  REQUIRE_MESSAGE(status.ok(), Words(status));
  CHECK(y.GapsIntact());
  return y;
}

struct Golden {
  DType dtype;
  float scale;
  std::vector<int16_t> x;
  std::vector<int16_t> y;
};

TEST_CASE("Quantized softmax: fixed point gives the bytes of TFLite's reference kernel") {
  // What the interpreter of ai-edge-litert 2.3 gives with BUILTIN_REF.
  const std::vector<Golden> goldens = {
      {DType::kI8,
       0.0637F,
       {43, 78, -123, 78, -8, 3, 33, -55, 122, -115, -57, -30},
       {-127, -114, -128, -114, -128, -128, -127, -128, 98, -128, -128, -128}},
      {DType::kU8,
       0.11F,
       {146, 104, 33, 11, 0, 12, 38, 255, 48, 167},
       {0, 0, 0, 0, 0, 0, 0, 255, 0, 0}},
      {DType::kI8,
       0.012F,
       {64, -68, -56, -17, -61, 121, -83, 101, 76, 88, -99, -28, 32, -2, 42, 45},
       {-106, -123, -123, -120, -123, -84, -124, -93, -102, -98, -125, -121, -113, -118, -111,
        -110}},
      {DType::kU8, 1.5F, {169, 15, 245}, {0, 0, 255}},
      {DType::kI8,
       0.02F,
       {14,  103, -59, -36, 97, -81, -112, -33, 45, -97, 94,   -41,
        -70, 11,  101, 98,  95, -50, -124, 71,  53, 69,  -128, -119},
       {-123, -95,  -127, -126, -99,  -127, -128, -126, -118, -127, -101, -126,
        -127, -123, -97,  -99,  -100, -126, -128, -111, -116, -112, -128, -128}},
      {DType::kI8, 17.0F, {3, 3, 2, -7, 3}, {-43, -43, -128, -128, -43}},
  };
  for (const Golden& golden : goldens) {
    CAPTURE(golden.scale);
    std::vector<uint8_t> x(golden.x.begin(), golden.x.end());
    const Dims dims = {1, static_cast<int32_t>(x.size())};
    const Tensor y = Run(Tensor::From(golden.dtype, dims, x),
                         FixedPoint(golden.dtype, golden.scale, 1), Layout::kRowMajor);
    CHECK(Integers(y) == std::vector<int64_t>(golden.y.begin(), golden.y.end()));
  }
}

/// Softmax in double along an axis, in steps of `output_scale`.
std::vector<double> NaiveSoftmax(const Tensor& x, int32_t axis, double scale, double output_scale) {
  const std::vector<int64_t> values = Integers(x);
  size_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < x.dims().size(); ++i) {
    inner *= static_cast<size_t>(x.dims()[i]);
  }
  const auto count = static_cast<size_t>(x.dims()[static_cast<size_t>(axis)]);
  std::vector<double> y(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t first = i / (inner * count) * inner * count + i % inner;
    double sum = 0.0;
    for (size_t k = 0; k < count; ++k) {
      sum += std::exp(static_cast<double>(values[first + k * inner] - values[i]) * scale);
    }
    y[i] = 1.0 / sum / output_scale;
  }
  return y;
}

TEST_CASE("Quantized softmax: both roundings are within a step of the real softmax, any axis") {
  Generator random(1);
  const Dims dims = {3, 12, 4, 5};
  for (const DType dtype : {DType::kI8, DType::kU8}) {
    for (int32_t axis = 0; axis < 4; ++axis) {
      for (const Layout layout : kAllLayouts) {
        for (const float scale : {0.01F, 0.07F, 0.4F}) {
          const Tensor x = RandomBytesAndEnds(dtype, dims, layout, random);
          QuantizedSoftmaxAttributes a = FixedPoint(dtype, scale, axis);
          const std::vector<double> expected = NaiveSoftmax(x, axis, scale, 1.0 / 256);
          for (const Rounding rounding : {Rounding::kFixedPoint, Rounding::kHalfEven}) {
            a.output.rounding = rounding;
            a.scale.scale = scale;
            const double most = rounding == Rounding::kFixedPoint ? 0.51 : 0.5001;
            const std::vector<int64_t> actual = Integers(Run(x, a, layout, 2));
            double worst = 0.0;
            for (size_t i = 0; i < actual.size(); ++i) {
              const double steps = std::min(expected[i], 255.0);
              worst = std::max(worst,
                               std::abs(static_cast<double>(actual[i] - LeastOf(dtype)) - steps));
            }
            CHECK(worst <= most);
          }
        }
      }
    }
  }
}

TEST_CASE("Quantized softmax: extremes that the shape rule allows are defined") {
  Generator random(2);
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  for (const QuantizedScale& scale :
       {QuantizedScale{kMost, INT32_MAX, 30}, QuantizedScale{kLeast, 0, -31},
        QuantizedScale{1.0F, 1, 30}}) {
    for (const Rounding rounding : {Rounding::kFixedPoint, Rounding::kHalfEven}) {
      for (const int32_t least : std::initializer_list<int32_t>{0, -20, INT32_MIN}) {
        for (const int32_t count : {1, 40, 8192, 9000}) {
          QuantizedSoftmaxAttributes a;
          a.softmax.axis = 1;
          a.scale = scale;
          a.least_difference = least;
          a.output_scale = least == 0 ? kLeast : 1.0F / 256;
          a.output.rounding = rounding;
          a.output.zero_point = -128;
          (void)Run(RandomBytesAndEnds(DType::kI8, {2, count}, Layout::kRowMajor, random), a,
                    Layout::kRowMajor);
          (void)Run(Tensor::From(DType::kI8, {1, count},
                                 std::vector<int8_t>(static_cast<size_t>(count), 5)),
                    a, Layout::kRowMajor);
        }
      }
    }
  }
}

TEST_CASE("Fixed point: exponentials are within 3e-7 of the real ones") {
  double worst = 0.0;
  for (int64_t x = 0; x >= INT32_MIN; x -= 12345) {
    const int32_t fixed = portable::fixed_point::ExpOfNegative(static_cast<int32_t>(x));
    const double real = std::exp(std::ldexp(static_cast<double>(x), -26));
    worst = std::max(worst, std::abs(std::ldexp(fixed, -31) - real));
  }
  CHECK(worst < 3e-7);
}

TEST_CASE("Fixed point: reciprocals are within 6e-9 of the real ones") {
  double worst = 0.0;
  for (int64_t x = 0; x <= INT32_MAX; x += 12345) {
    const int32_t fixed = portable::fixed_point::ReciprocalOfOnePlus(static_cast<int32_t>(x));
    const double real = 1.0 / (1.0 + std::ldexp(static_cast<double>(x), -31));
    worst = std::max(worst, std::abs(std::ldexp(fixed, -31) - real));
  }
  CHECK(worst < 6e-9);
}

}  // namespace
}  // namespace tenon::cpu::testing

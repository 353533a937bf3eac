#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/quantized_naive.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

float NaiveFunction(BinaryFunction function, float x, float y) {
  switch (function) {
    case BinaryFunction::kAdd:
      return x + y;
    case BinaryFunction::kSub:
      return x - y;
    case BinaryFunction::kMul:
      return x * y;
    case BinaryFunction::kDiv:
      return x / y;
    case BinaryFunction::kMax:
      return std::max(x, y);
    default:
      return std::min(x, y);
  }
}

int64_t NaiveRounded(const QuantizedBinaryAttributes& a, int64_t x, int64_t y) {
  if (a.output.rounding == Rounding::kHalfEven) {
    const float left = static_cast<float>(x) * a.x_scale.scale;
    const float right = static_cast<float>(y) * a.y_scale.scale;
    return NaiveHalfEven(NaiveFunction(a.function, left, right) / a.output_scale.scale);
  }
  const QuantizedScale& out = a.output_scale;
  if (a.function == BinaryFunction::kMul) {
    return NaiveFixedPoint(Wrap32(x * y), out.multiplier, out.shift);
  }
  const int64_t unit = int64_t{1} << a.left_shift;
  const int64_t left = NaiveFixedPoint(Wrap32(x * unit), a.x_scale.multiplier, a.x_scale.shift);
  const int64_t right = NaiveFixedPoint(Wrap32(y * unit), a.y_scale.multiplier, a.y_scale.shift);
  const int64_t sum = Wrap32(a.function == BinaryFunction::kSub ? left - right : left + right);
  return NaiveFixedPoint(sum, out.multiplier, out.shift);
}

QuantizedScale Factor(double factor) {
  QuantizedScale scale;
  scale.scale = static_cast<float>(factor);
  int exponent = 0;
  scale.multiplier = static_cast<int32_t>(std::ldexp(std::frexp(factor, &exponent), 31));
  scale.shift = exponent;
  return scale;
}

/// As TFLite sets an addition up: both operands on twice the larger scale.
QuantizedBinaryAttributes RandomAttributes(BinaryFunction function, Rounding rounding, DType x,
                                           DType y, DType z, Generator& random) {
  QuantizedBinaryAttributes a;
  a.function = function;
  a.x_zero_point = Pick(random, LeastOf(x), MostOf(x));
  a.y_zero_point = Pick(random, LeastOf(y), MostOf(y));
  a.output = RandomOutput(z, rounding, random);
  const double x_scale = Pick(random, 1, 100) * 1e-3;
  const double y_scale = Pick(random, 1, 100) * 1e-3;
  if (rounding == Rounding::kHalfEven) {
    a.x_scale = Factor(x_scale);
    a.y_scale = Factor(y_scale);
    a.output_scale = Factor(function == BinaryFunction::kMul ? x_scale * y_scale * 100 : x_scale);
    return a;
  }
  const double twice = 2.0 * std::max(x_scale, y_scale);
  a.left_shift = 20;
  a.x_scale = Factor(x_scale / twice);
  a.y_scale = Factor(y_scale / twice);
  a.output_scale =
      Factor(function == BinaryFunction::kMul ? Pick(random, 1, 100) * 1e-3
                                              : twice / ((1 << 20) * (x_scale + y_scale)));
  return a;
}

/// Position in `dims` of element `flat` of `z`, broadcast.
size_t Place(const Dims& dims, const Dims& z, size_t flat) {
  size_t place = 0;
  size_t step = 1;
  for (size_t i = z.size(); i-- > 0;) {
    const size_t position = flat % static_cast<size_t>(z[i]);
    flat /= static_cast<size_t>(z[i]);
    if (i + dims.size() < z.size()) continue;
    const auto dim = static_cast<size_t>(dims[i + dims.size() - z.size()]);
    if (dim != 1) place += position * step;
    step *= dim;
  }
  return place;
}

/// The elements of any integers in logical order.
std::vector<int64_t> AnyIntegers(const Tensor& tensor) {
  const auto widened = [](const auto& values) {
    return std::vector<int64_t>(values.begin(), values.end());
  };
  if (tensor.dtype() == DType::kI32) return widened(tensor.Values<int32_t>());
  if (tensor.dtype() == DType::kI16) return widened(tensor.Values<int16_t>());
  return Integers(tensor);
}

/// Elements of up to 32 bits, the ends of their range among them.
Tensor RandomIntegers(DType dtype, const Dims& dims, Layout layout, Generator& random) {
  if (DTypeBytes(dtype) == 1) return RandomBytesAndEnds(dtype, dims, layout, random);
  Tensor tensor(dtype, dims, layout);
  std::vector<int32_t> values(tensor.count());
  const int most = dtype == DType::kI16 ? INT16_MAX : INT32_MAX;
  for (int32_t& value : values) {
    value = Pick(random, -most - 1, most) >> Pick(random, 0, 24);
    if (Pick(random, 0, 9) == 0) value = Pick(random, 0, 1) == 0 ? most : -most - 1;
  }
  if (dtype == DType::kI32) {
    tensor.Set(values);
  } else {
    tensor.Set(std::vector<int16_t>(values.begin(), values.end()));
  }
  return tensor;
}

struct Problem {
  Dims x = {2, 12, 5, 7};
  Dims y = {2, 12, 5, 7};
  DType x_dtype = DType::kI8;
  DType y_dtype = DType::kI8;
  DType z_dtype = DType::kI8;
  Layout x_layout = Layout::kRowMajor;
  Layout y_layout = Layout::kRowMajor;
  int threads = 1;
};

void Run(const Problem& p, const QuantizedBinaryAttributes& attributes, Generator& random) {
  Dims z_dims = p.x;
  for (size_t i = 0; i < p.y.size(); ++i) {
    int32_t& dim = z_dims[z_dims.size() - p.y.size() + i];
    dim = std::max(dim, p.y[i]);
  }
  OpFixture op(OpKind::kQuantizedBinary);
  const Tensor x = op.AddInput(RandomIntegers(p.x_dtype, p.x, p.x_layout, random));
  const Tensor y = op.AddInput(RandomIntegers(p.y_dtype, p.y, p.y_layout, random));
  const Tensor z = op.AddOutput(Tensor(p.z_dtype, z_dims, p.x_layout));
  const Status status = op.Run(attributes, p.threads);
  REQUIRE_MESSAGE(status.ok(), Words(status));
  CHECK(z.GapsIntact());
  const std::vector<int64_t> xs = AnyIntegers(x);
  const std::vector<int64_t> ys = AnyIntegers(y);
  std::vector<int64_t> expected;
  for (size_t i = 0; i < z.count(); ++i) {
    const int64_t left = xs[Place(p.x, z_dims, i)] - attributes.x_zero_point;
    const int64_t right = ys[Place(p.y, z_dims, i)] - attributes.y_zero_point;
    expected.push_back(NaiveStored(attributes.output, NaiveRounded(attributes, left, right)));
  }
  CHECK(AnyIntegers(z) == expected);
}

TEST_CASE("Quantized binary: every function and rounding, every mix of i8 and u8") {
  Generator random(1);
  const std::vector<std::pair<BinaryFunction, Rounding>> forms = {
      {BinaryFunction::kAdd, Rounding::kHalfEven},   {BinaryFunction::kSub, Rounding::kHalfEven},
      {BinaryFunction::kMul, Rounding::kHalfEven},   {BinaryFunction::kDiv, Rounding::kHalfEven},
      {BinaryFunction::kMax, Rounding::kHalfEven},   {BinaryFunction::kMin, Rounding::kHalfEven},
      {BinaryFunction::kAdd, Rounding::kFixedPoint}, {BinaryFunction::kSub, Rounding::kFixedPoint},
      {BinaryFunction::kMul, Rounding::kFixedPoint}};
  for (const auto& [function, rounding] : forms) {
    CAPTURE(static_cast<int>(function));
    for (int mix = 0; mix < 8; ++mix) {
      Problem p;
      p.x_dtype = (mix & 1) != 0 ? DType::kU8 : DType::kI8;
      p.y_dtype = (mix & 2) != 0 ? DType::kU8 : DType::kI8;
      p.z_dtype = (mix & 4) != 0 ? DType::kU8 : DType::kI8;
      Run(p, RandomAttributes(function, rounding, p.x_dtype, p.y_dtype, p.z_dtype, random), random);
    }
  }
}

TEST_CASE("Quantized binary: operands of 16 and 32 bits, and results of 16") {
  Generator random(5);
  constexpr DType kOperands[] = {DType::kI8, DType::kU8, DType::kI16, DType::kI32};
  for (const DType x : kOperands) {
    for (const DType y : kOperands) {
      for (const DType z : {DType::kI8, DType::kI16}) {
        for (const BinaryFunction function :
             {BinaryFunction::kAdd, BinaryFunction::kSub, BinaryFunction::kMul}) {
          Problem p;
          p.x_dtype = x;
          p.y_dtype = y;
          p.z_dtype = z;
          p.y = Pick(random, 0, 1) == 0 ? p.x : Dims{12, 1, 7};
          p.y_layout = Pick(random, 0, 1) == 0 ? Layout::kRowMajor : Layout::kChannelsLast;
          QuantizedBinaryAttributes a =
              RandomAttributes(function, Rounding::kFixedPoint, x, y, DType::kI8, random);
          if (DTypeBytes(x) > 1) a.x_zero_point = 0;
          if (DTypeBytes(y) > 1) a.y_zero_point = 0;
          a.left_shift = Pick(random, 0, 22);
          a.x_scale.shift = Pick(random, -12, 3);
          if (z == DType::kI16) {
            a.output = {static_cast<int32_t>(z), Rounding::kFixedPoint, 0, -32768, 32767};
            if (Pick(random, 0, 1) == 0) a.output.min = -500;
          }
          Run(p, a, random);
        }
      }
    }
  }
}

TEST_CASE("Quantized binary: operands broadcast in every layout") {
  Generator random(2);
  for (const Layout layout : kAllLayouts) {
    for (const Dims& y : {Dims{1}, Dims{7}, Dims{12, 1, 1}, Dims{2, 1, 5, 1}, Dims{1, 12, 5, 7}}) {
      for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kFixedPoint}) {
        Problem p;
        p.y = y;
        p.x_layout = layout;
        p.y_layout = layout;
        const QuantizedBinaryAttributes attributes = RandomAttributes(
            BinaryFunction::kAdd, rounding, p.x_dtype, p.y_dtype, p.z_dtype, random);
        Run(p, attributes, random);
      }
    }
  }
}

TEST_CASE("Quantized binary: threads do not change a bit") {
  Generator random(3);
  Problem p;
  p.x = p.y = {1, 16, 64, 64};
  p.threads = 3;
  p.y_layout = Layout::kChannelsLast;
  Run(p,
      RandomAttributes(BinaryFunction::kAdd, Rounding::kFixedPoint, DType::kI8, DType::kI8,
                       DType::kI8, random),
      random);
}

TEST_CASE("Quantized binary: the extremes that the shape rule allows are defined") {
  Generator random(4);
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  const QuantizedScale scales[] = {
      {kMost, INT32_MAX, 30}, {kLeast, 0, -31}, {1.0F, 1, 30}, {1.0F, INT32_MAX, -31}};
  for (const BinaryFunction function :
       {BinaryFunction::kAdd, BinaryFunction::kSub, BinaryFunction::kMul}) {
    for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kFixedPoint}) {
      for (const QuantizedScale& x : scales) {
        for (const QuantizedScale& y : scales) {
          for (const QuantizedScale& out : scales) {
            QuantizedBinaryAttributes a;
            a.function = function;
            a.x_zero_point = 127;
            a.y_zero_point = -128;
            a.x_scale = x;
            a.y_scale = y;
            a.output_scale = out;
            a.left_shift = 22;
            a.output.rounding = rounding;
            Problem p;
            p.x = p.y = {40};
            Run(p, a, random);
          }
        }
      }
    }
  }
}

TEST_CASE("Quantized binary: division by zero gives a bound or the zero point") {
  QuantizedBinaryAttributes a;
  a.function = BinaryFunction::kDiv;
  a.output.zero_point = 3;
  OpFixture op(OpKind::kQuantizedBinary);
  op.AddInput(Tensor::From(DType::kI8, {4}, std::vector<int8_t>{5, -5, 0, 4}));
  op.AddInput(Tensor::From(DType::kI8, {4}, std::vector<int8_t>{0, 0, 0, 2}));
  const Tensor z = op.AddOutput(Tensor(DType::kI8, {4}));
  REQUIRE(op.Run(a).ok());
  CHECK(z.Values<int8_t>() == std::vector<int8_t>{127, -128, 3, 5});
}

}  // namespace
}  // namespace tenon::cpu::testing

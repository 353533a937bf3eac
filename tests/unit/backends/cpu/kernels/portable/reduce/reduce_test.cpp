#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

Dims ReducedDims(const Dims& dims, const ReduceAttributes& attributes) {
  Dims y;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (((attributes.axes_mask >> i) & 1) == 0) {
      y.push_back(dims[i]);
    } else if (attributes.keep_dims != 0) {
      y.push_back(1);
    }
  }
  return y;
}

double Naive(ReduceFunction function, const std::vector<double>& values) {
  double sum = 0.0;
  double product = 1.0;
  double magnitudes = 0.0;
  double squares = 0.0;
  double exponentials = 0.0;
  double maximum = -std::numeric_limits<double>::infinity();
  double minimum = std::numeric_limits<double>::infinity();
  for (const double value : values) {
    sum += value;
    product *= value;
    magnitudes += std::abs(value);
    squares += value * value;
    exponentials += std::exp(value);
    maximum = std::max(maximum, value);
    minimum = std::min(minimum, value);
  }
  switch (function) {
    case ReduceFunction::kSum:
      return sum;
    case ReduceFunction::kMean:
      return sum / static_cast<double>(values.size());
    case ReduceFunction::kMax:
      return maximum;
    case ReduceFunction::kMin:
      return minimum;
    case ReduceFunction::kProd:
      return product;
    case ReduceFunction::kL1:
      return magnitudes;
    case ReduceFunction::kL2:
      return std::sqrt(squares);
    case ReduceFunction::kSumSquare:
      return squares;
    case ReduceFunction::kLogSum:
      return std::log(sum);
    case ReduceFunction::kLogSumExp:
      return std::log(exponentials);
  }
  return 0.0;
}

/// The values that each output is made of, outputs in row-major order.
template <typename T>
std::vector<std::vector<double>> Groups(const Dims& dims, int32_t axes_mask,
                                        const std::vector<T>& x) {
  size_t outputs = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (((axes_mask >> i) & 1) == 0) outputs *= static_cast<size_t>(dims[i]);
  }
  std::vector<std::vector<double>> groups(outputs);
  for (size_t flat = 0; flat < x.size(); ++flat) {
    size_t rest = flat;
    size_t output = 0;
    size_t scale = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      const auto dim = static_cast<size_t>(dims[i]);
      if (((axes_mask >> i) & 1) == 0) {
        output += rest % dim * scale;
        scale *= dim;
      }
      rest /= dim;
    }
    groups[output].push_back(static_cast<double>(x[flat]));
  }
  return groups;
}

template <typename T>
std::vector<double> NaiveReduce(const Dims& dims, const ReduceAttributes& attributes,
                                const std::vector<T>& x) {
  std::vector<double> y;
  for (const auto& group : Groups(dims, attributes.axes_mask, x)) {
    y.push_back(Naive(attributes.function, group));
  }
  return y;
}

TEST_CASE("Reduce: every function agrees with its definition over axes and layouts") {
  Generator random(1);
  for (int i = 0; i < 600; ++i) {
    Dims dims;
    for (int32_t k = Pick(random, 1, 5); k > 0; --k) dims.push_back(Pick(random, 1, 7));
    if (Pick(random, 0, 1) == 1) dims = {Pick(random, 1, 2), Pick(random, 1, 40), 5, 6};
    ReduceAttributes attributes;
    attributes.function = static_cast<ReduceFunction>(i % kReduceFunctionCount);
    attributes.axes_mask = Pick(random, 0, (1 << dims.size()) - 1);
    attributes.keep_dims = Pick(random, 0, 1);
    // Above 0 and around 1, so that logarithms exist and products stay in range.
    OpFixture op(OpKind::kReduce);
    const Tensor x = op.AddInput(Random(dims, kAllLayouts[Pick(random, 0, 4)], random, 0.8F, 1.2F));
    const Tensor y = op.AddOutput(
        Tensor(DType::kF32, ReducedDims(dims, attributes), kAllLayouts[Pick(random, 0, 4)]));
    REQUIRE(op.Run(attributes, Pick(random, 1, 3)).ok());
    INFO("case ", i);
    CHECK(LargestRelativeError(y.Values<float>(),
                               NaiveReduce(dims, attributes, x.Values<float>())) < 1e-5);
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("Reduce: signed values reduce by magnitude, extreme and square") {
  Generator random(2);
  for (const ReduceFunction function :
       {ReduceFunction::kMax, ReduceFunction::kMin, ReduceFunction::kL1, ReduceFunction::kL2,
        ReduceFunction::kLogSumExp}) {
    const ReduceAttributes attributes = {function, 0b0101, 1};
    OpFixture op(OpKind::kReduce);
    const Tensor x = op.AddInput(Random({6, 5, 4, 3}, Layout::kRowMajor, random));
    const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 5, 1, 3}));
    REQUIRE(op.Run(attributes).ok());
    CHECK(LargestRelativeError(y.Values<float>(),
                               NaiveReduce({6, 5, 4, 3}, attributes, x.Values<float>())) < 1e-6);
  }
}

TEST_CASE("Reduce: log-sum-exp of large values stays finite") {
  OpFixture op(OpKind::kReduce);
  op.AddInput(Tensor::From<float>(DType::kF32, {2, 2}, {1000.0F, 1000.0F, -1000.0F, -1000.0F}));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {2}));
  REQUIRE(op.Run(ReduceAttributes{ReduceFunction::kLogSumExp, 2, 0}).ok());
  CHECK(y.Values<float>()[0] == doctest::Approx(1000.0 + std::log(2.0)));
  CHECK(y.Values<float>()[1] == doctest::Approx(-1000.0 + std::log(2.0)));
}

TEST_CASE("Reduce: log-sum-exp keeps infinities") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  OpFixture op(OpKind::kReduce);
  op.AddInput(Tensor::From<float>(DType::kF32, {2, 2}, {kInfinity, 0.0F, -kInfinity, -kInfinity}));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {2}));
  REQUIRE(op.Run(ReduceAttributes{ReduceFunction::kLogSumExp, 2, 0}).ok());
  CHECK(y.Values<float>() == std::vector<float>{kInfinity, -kInfinity});
}

TEST_CASE("Reduce: a long sum keeps its accuracy") {
  // One after another, a million times 0.1 is off by a percent in f32.
  const std::vector<int32_t> dims = {1000, 1000};
  OpFixture op(OpKind::kReduce);
  op.AddInput(
      Tensor::From(DType::kF32, dims, std::vector<float>(1000000, 0.1F), Layout::kRowMajorGaps));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {}));
  REQUIRE(op.Run(ReduceAttributes{ReduceFunction::kSum, 3, 0}).ok());
  CHECK(y.Values<float>()[0] == doctest::Approx(1e5).epsilon(1e-4));
}

TEST_CASE("Reduce: the mean of equal values is that value, however many they are") {
  // A normalisation subtracts it, and divides what is left by the square root of a small number.
  for (const float value : {0.1F, -3.7F, 1234.567F, 1e-20F}) {
    for (const int32_t length : {1, 2, 3, 7, 9, 49, 63, 65, 100, 197, 768, 1001, 12544}) {
      for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLastSpaced}) {
        for (const int32_t mask : {0b01, 0b10}) {
          CAPTURE(value);
          CAPTURE(length);
          const Dims dims = mask == 0b01 ? Dims{length, 19} : Dims{19, length};
          OpFixture op(OpKind::kReduce);
          op.AddInput(Tensor::From(DType::kF32, dims,
                                   std::vector<float>(static_cast<size_t>(length) * 19, value),
                                   layout));
          const Tensor y = op.AddOutput(Tensor(DType::kF32, {19}));
          REQUIRE(op.Run(ReduceAttributes{ReduceFunction::kMean, mask, 0}).ok());
          CHECK(y.Values<float>() == std::vector<float>(19, value));
        }
      }
    }
  }
}

TEST_CASE("Reduce: a sum of many values of all sizes is right to the last bits") {
  Generator random(5);
  for (const int32_t mask : {0b01, 0b10}) {
    const Dims dims = mask == 0b01 ? Dims{30011, 3} : Dims{3, 30011};
    const Tensor x = Random(dims, Layout::kRowMajor, random);
    const std::vector<float> values = x.Values<float>();
    OpFixture op(OpKind::kReduce);
    op.AddInput(x);
    const Tensor y = op.AddOutput(Tensor(DType::kF32, {3}));
    REQUIRE(op.Run(ReduceAttributes{ReduceFunction::kL1, mask, 0}).ok());
    for (size_t i = 0; i < 3; ++i) {
      double sum = 0;
      for (size_t k = 0; k < 30011; ++k) {
        sum +=
            std::abs(static_cast<double>(mask == 0b01 ? values[k * 3 + i] : values[i * 30011 + k]));
      }
      CHECK(std::abs(y.Values<float>()[i] - sum) <= 2e-7 * sum);
    }
  }
}

TEST_CASE("Reduce: sums of two are those of f32, and extremes exact, along any axis") {
  constexpr ReduceFunction kFunctions[] = {ReduceFunction::kSum, ReduceFunction::kMax,
                                           ReduceFunction::kMin};
  Generator random(6);
  for (int k = 0; k < 120; ++k) {
    const auto axis = static_cast<size_t>(k % 4);
    Dims dims = {3, 1, 5, 300};
    // An axis of one element is reduced, too.
    const ReduceAttributes attributes = {kFunctions[k / 4 % 3], 1 << axis | 0b10, k / 12 % 2};
    dims[axis] = attributes.function == ReduceFunction::kSum ? 2 : Pick(random, 2, 5);
    OpFixture op(OpKind::kReduce);
    const Tensor x =
        op.AddInput(Random(dims, kAllLayouts[Pick(random, 0, 4)], random, -1e3F, 1.0F));
    const Tensor y = op.AddOutput(
        Tensor(DType::kF32, ReducedDims(dims, attributes), kAllLayouts[Pick(random, 0, 4)]));
    REQUIRE(op.Run(attributes, Pick(random, 1, 3)).ok());
    const std::vector<double> expected = NaiveReduce(dims, attributes, x.Values<float>());
    const std::vector<float> result = y.Values<float>();
    REQUIRE(result.size() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      CHECK(result[i] == static_cast<float>(expected[i]));
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("Reduce: a NaN is the extreme of rows of neighbours, and of no others") {
  for (const ReduceFunction function : {ReduceFunction::kMax, ReduceFunction::kMin}) {
    for (size_t row = 0; row < 3; ++row) {
      std::vector<float> values(120, 1.0F);
      values[row * 40 + 17] = std::nanf("");
      OpFixture op(OpKind::kReduce);
      op.AddInput(Tensor::From(DType::kF32, {3, 40}, values));
      const Tensor y = op.AddOutput(Tensor(DType::kF32, {40}));
      REQUIRE(op.Run(ReduceAttributes{function, 1, 0}).ok());
      for (size_t i = 0; i < 40; ++i) CHECK(std::isnan(y.Values<float>()[i]) == (i == 17));
    }
  }
}

TEST_CASE("Reduce: of no elements a sum is 0 and a product 1") {
  for (const ReduceFunction function : {ReduceFunction::kSum, ReduceFunction::kProd}) {
    OpFixture op(OpKind::kReduce);
    op.AddInput(Tensor(DType::kF32, {3, 0}));
    const Tensor y = op.AddOutput(Tensor(DType::kF32, {3}));
    REQUIRE(op.Run(ReduceAttributes{function, 2, 0}).ok());
    const float expected = function == ReduceFunction::kSum ? 0.0F : 1.0F;
    CHECK(y.Values<float>() == std::vector<float>(3, expected));
  }
}

TEST_CASE("Reduce: a NaN is the maximum and the minimum wherever it stands") {
  for (const ReduceFunction function : {ReduceFunction::kMax, ReduceFunction::kMin}) {
    for (size_t place = 0; place < 3; ++place) {
      std::vector<float> values = {1.0F, 2.0F, 3.0F};
      values[place] = std::nanf("");
      OpFixture op(OpKind::kReduce);
      op.AddInput(Tensor::From(DType::kF32, {3}, values));
      const Tensor y = op.AddOutput(Tensor(DType::kF32, {1}));
      REQUIRE(op.Run(ReduceAttributes{function, 1, 1}).ok());
      CHECK(std::isnan(y.Values<float>()[0]));
    }
  }
}

TEST_CASE("Reduce: extremes of rows of every length, with a NaN and without") {
  Generator random(8);
  for (int32_t length = 1; length <= 150; ++length) {
    for (const ReduceFunction function : {ReduceFunction::kMax, ReduceFunction::kMin}) {
      const ReduceAttributes attributes = {function, 0b10, 1};
      OpFixture op(OpKind::kReduce);
      Tensor x = Random({5, length}, Layout::kRowMajor, random);
      std::vector<float> values = x.Values<float>();
      const std::vector<double> expected = NaiveReduce({5, length}, attributes, values);
      values[static_cast<size_t>(Pick(random, 0, length - 1))] = std::nanf("");
      x.Set(values);
      op.AddInput(x);
      const Tensor y = op.AddOutput(Tensor(DType::kF32, {5, 1}));
      REQUIRE(op.Run(attributes).ok());
      const std::vector<float> result = y.Values<float>();
      CAPTURE(length);
      CHECK(std::isnan(result[0]));
      for (size_t row = 1; row < 5; ++row) CHECK(result[row] == static_cast<float>(expected[row]));
    }
  }
}

TEST_CASE("Reduce: columns whose number is no multiple of the lanes, on several threads") {
  Generator random(9);
  for (const int32_t columns : {1, 2, 7, 15, 16, 17, 31, 33, 47}) {
    for (int function = 0; function < kReduceFunctionCount; ++function) {
      const ReduceAttributes attributes = {static_cast<ReduceFunction>(function), 0b010, 1};
      OpFixture op(OpKind::kReduce);
      const Dims dims = {40, 13, columns};
      const Tensor x = op.AddInput(Random(dims, Layout::kRowMajor, random, 0.8F, 1.2F));
      const Tensor y = op.AddOutput(Tensor(DType::kF32, {40, 1, columns}));
      REQUIRE(op.Run(attributes, 3).ok());
      CAPTURE(columns);
      CHECK(LargestRelativeError(y.Values<float>(),
                                 NaiveReduce(dims, attributes, x.Values<float>())) < 1e-5);
      CHECK(y.GapsIntact());
    }
  }
}

template <typename T>
void CheckIntegers(DType dtype, std::initializer_list<ReduceFunction> functions) {
  Generator random(3);
  for (const ReduceFunction function : functions) {
    Tensor x(dtype, {3, 20, 4}, Layout::kRowMajor);
    std::vector<T> values(x.count());
    for (T& value : values) {
      value = static_cast<T>(Pick(random, std::numeric_limits<T>::is_signed ? -5 : 0, 5));
    }
    x.Set(values);
    const ReduceAttributes attributes = {function, 0b101, 0};
    OpFixture op(OpKind::kReduce);
    op.AddInput(x);
    const Tensor y = op.AddOutput(Tensor(dtype, {20}));
    REQUIRE(op.Run(attributes).ok());
    std::vector<T> expected;
    for (const double value : NaiveReduce({3, 20, 4}, attributes, values)) {
      expected.push_back(static_cast<T>(value));  // towards zero, as integers divide
    }
    CHECK(y.Values<T>() == expected);
  }
}

TEST_CASE("Reduce: runs integers") {
  using Function = ReduceFunction;
  CheckIntegers<int32_t>(DType::kI32, {Function::kSum, Function::kMean, Function::kMax,
                                       Function::kMin, Function::kProd});
  CheckIntegers<int64_t>(DType::kI64, {Function::kSum, Function::kMean, Function::kMax,
                                       Function::kMin, Function::kProd});
  CheckIntegers<int8_t>(DType::kI8, {Function::kMax, Function::kMin});
  CheckIntegers<uint8_t>(DType::kU8, {Function::kMax, Function::kMin});
}

TEST_CASE("Reduce: an integer sum past the end wraps") {
  OpFixture op(OpKind::kReduce);
  op.AddInput(Tensor::From<int32_t>(DType::kI32, {2}, {INT32_MAX, 1}));
  const Tensor y = op.AddOutput(Tensor(DType::kI32, {}));
  REQUIRE(op.Run(ReduceAttributes{ReduceFunction::kSum, 1, 0}).ok());
  CHECK(y.Values<int32_t>()[0] == INT32_MIN);
}

TEST_CASE("Reduce: refuses sums of bytes") {
  OpFixture op(OpKind::kReduce);
  op.AddInput(Tensor(DType::kU8, {2}));
  op.AddOutput(Tensor(DType::kU8, {}));
  const ReduceAttributes attributes = {ReduceFunction::kSum, 1, 0};
  CHECK(op.Check(attributes).code() == StatusCode::kUnsupported);
}

TEST_CASE("Reduce: the number of threads does not change a bit") {
  Generator random(4);
  const Tensor x = Random({2, 100, 30, 30}, Layout::kChannelsLast, random);
  std::vector<float> expected;
  for (const int threads : {1, 2, 5}) {
    OpFixture op(OpKind::kReduce);
    op.AddInput(x);
    const Tensor y = op.AddOutput(Tensor(DType::kF32, {2, 100}));
    REQUIRE(op.Run(ReduceAttributes{ReduceFunction::kMean, 0b1100, 0}, threads).ok());
    if (expected.empty()) expected = y.Values<float>();
    CHECK(y.Values<float>() == expected);
  }
}

}  // namespace
}  // namespace tenon::cpu::testing

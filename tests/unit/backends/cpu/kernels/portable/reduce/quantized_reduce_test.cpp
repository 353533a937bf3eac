#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/quantized_naive.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

bool Reduced(int32_t mask, size_t axis) { return ((mask >> axis) & 1) != 0; }

Dims OutputDims(const Dims& x, const ReduceAttributes& a) {
  Dims y;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    if (!Reduced(a.axes_mask, axis)) {
      y.push_back(x[axis]);
    } else if (a.keep_dims != 0) {
      y.push_back(1);
    }
  }
  return y;
}

/// Sums of x less its zero point, in y's order.
std::vector<int64_t> NaiveSums(const Tensor& x, const QuantizedReduceAttributes& a, size_t count) {
  std::vector<int64_t> sums(count, 0);
  const std::vector<int64_t> values = Integers(x);
  for (size_t i = 0; i < values.size(); ++i) {
    size_t rest = i;
    size_t place = 0;
    size_t step = 1;
    for (size_t axis = x.dims().size(); axis-- > 0;) {
      const auto dim = static_cast<size_t>(x.dims()[axis]);
      if (!Reduced(a.reduce.axes_mask, axis)) {
        place += rest % dim * step;
        step *= dim;
      }
      rest /= dim;
    }
    sums[place] += values[i] - a.x_zero_point;
  }
  return sums;
}

void Run(const Dims& dims, DType x_dtype, DType y_dtype, const QuantizedReduceAttributes& a,
         Layout layout, Generator& random, int threads = 1) {
  OpFixture op(OpKind::kQuantizedReduce);
  const Tensor x = op.AddInput(RandomBytesAndEnds(x_dtype, dims, layout, random));
  const Tensor y = op.AddOutput(Tensor(y_dtype, OutputDims(dims, a.reduce), layout));
  const Status status = op.Run(a, threads);
  REQUIRE_MESSAGE(status.ok(), Words(status));
  CHECK(y.GapsIntact());
  std::vector<int64_t> expected;
  for (const int64_t sum : NaiveSums(x, a, y.count())) {
    const int64_t rounded = NaiveRescale(a.scale, a.output.rounding, Wrap32(sum));
    expected.push_back(NaiveStored(a.output, rounded));
  }
  CHECK(Integers(y) == expected);
}

TEST_CASE("Quantized reduce: every set of axes, both roundings, in every layout") {
  Generator random(1);
  for (int32_t mask = 0; mask < 16; ++mask) {
    CAPTURE(mask);
    for (const Layout layout : kAllLayouts) {
      for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kFixedPoint}) {
        const DType x = Pick(random, 0, 1) == 0 ? DType::kI8 : DType::kU8;
        const DType y = Pick(random, 0, 1) == 0 ? DType::kI8 : DType::kU8;
        QuantizedReduceAttributes a;
        a.reduce.axes_mask = mask;
        a.reduce.keep_dims = Pick(random, 0, 1);
        a.x_zero_point = Pick(random, LeastOf(x), MostOf(x));
        a.scale = RandomScale(2000.0, random);
        a.output = RandomOutput(y, rounding, random);
        Run({2, 21, 5, 6}, x, y, a, layout, random);
      }
    }
  }
}

TEST_CASE("Quantized reduce: long sums on several threads, extremes of the factor") {
  Generator random(2);
  QuantizedReduceAttributes a;
  a.reduce.axes_mask = 0b1100;
  a.x_zero_point = -128;
  a.output.rounding = Rounding::kFixedPoint;
  for (const QuantizedScale& scale :
       {QuantizedScale{1.0F, INT32_MAX, 30}, QuantizedScale{1.0F, INT32_MAX, -31},
        QuantizedScale{1.0F, 0, 0}, QuantizedScale{1.0F, 1 << 30, -6}}) {
    a.scale = scale;
    Run({1, 40, 31, 33}, DType::kI8, DType::kI8, a, Layout::kChannelsLast, random, 3);
  }
}

TEST_CASE("Quantized reduce: the sum of no elements is 0, which the zero point stands for") {
  Generator random(3);
  QuantizedReduceAttributes a;
  a.reduce.axes_mask = 0b10;
  a.output.zero_point = -9;
  Run({3, 0, 2}, DType::kI8, DType::kI8, a, Layout::kRowMajor, random);
}

}  // namespace
}  // namespace tenon::cpu::testing

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/quantized_naive.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

struct QuantizedProduct {
  Dims a = {5, 33};
  Dims b = {33, 10};
  Dims y = {5, 10};
  int32_t transpose_a = 0;
  int32_t transpose_b = 0;
  DType a_dtype = DType::kI8;
  DType b_dtype = DType::kI8;
  DType y_dtype = DType::kI8;
  Rounding rounding = Rounding::kFixedPoint;
  bool each = true;  ///< a factor and a zero point of b for each column
  bool zeros = true;
  Layout layout = Layout::kRowMajor;
  int threads = 1;
};

/// Position in `dims` of y's `index`, broadcast; the last two are `row` and `column`.
size_t Place(const Dims& dims, const Dims& index, int32_t row, int32_t column) {
  size_t flat = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t from_end = dims.size() - 1 - i;
    int32_t position = index[index.size() - 1 - from_end];
    if (from_end == 1) position = row;
    if (from_end == 0) position = column;
    flat = flat * static_cast<size_t>(dims[i]) + static_cast<size_t>(dims[i] == 1 ? 0 : position);
  }
  return flat;
}

struct Operands {
  std::vector<int32_t> bias;
  std::vector<float> scales;
  std::vector<int32_t> multipliers;
  std::vector<int8_t> shifts;
  int64_t a_zero;
  std::vector<int64_t> b_zero;
};

Operands MakeOperands(const QuantizedProduct& p, int32_t depth, Generator& random) {
  Operands o = {};
  const int32_t columns = p.y.back();
  for (int32_t i = 0; i < columns; ++i) o.bias.push_back(Pick(random, -40000, 40000));
  for (int32_t i = 0; i < (p.each ? columns : 1); ++i) {
    const QuantizedScale scale = RandomScale(4000.0 * depth, random);
    o.scales.push_back(scale.scale);
    o.multipliers.push_back(scale.multiplier);
    o.shifts.push_back(static_cast<int8_t>(scale.shift));
    if (p.zeros) o.b_zero.push_back(Pick(random, LeastOf(p.b_dtype), MostOf(p.b_dtype)));
  }
  o.a_zero = p.zeros ? Pick(random, LeastOf(p.a_dtype), MostOf(p.a_dtype)) : 0;
  return o;
}

Tensor ByteVector(DType dtype, const std::vector<int64_t>& values) {
  std::vector<uint8_t> bytes;
  for (const int64_t value : values) bytes.push_back(static_cast<uint8_t>(value));
  return Tensor::From(dtype, {static_cast<int32_t>(values.size())}, bytes);
}

void AddFactors(OpFixture& op, const QuantizedProduct& p, const Operands& o) {
  const auto count = static_cast<int32_t>(o.scales.size());
  op.AddInput(Tensor::From(DType::kI32, {p.y.back()}, o.bias), kConstant);
  if (p.y_dtype == DType::kI32) {
    op.AddAbsentInput();
    op.AddAbsentInput();
  } else if (p.rounding != Rounding::kHalfEven) {
    op.AddInput(Tensor::From(DType::kI32, {count}, o.multipliers), kConstant);
    op.AddInput(Tensor::From(DType::kI8, {count}, o.shifts), kConstant);
  } else {
    op.AddInput(Tensor::From(DType::kF32, {count}, o.scales), kConstant);
    op.AddAbsentInput();
  }
  if (!p.zeros) return;
  op.AddInput(ByteVector(p.a_dtype, {o.a_zero}), kConstant);
  op.AddInput(ByteVector(p.b_dtype, o.b_zero), kConstant);
}

/// The sums in y's order.
std::vector<int64_t> NaiveSums(const QuantizedProduct& p, const Operands& o, const Tensor& a_tensor,
                               const Tensor& b_tensor) {
  const std::vector<int64_t> a = Integers(a_tensor);
  const std::vector<int64_t> b = Integers(b_tensor);
  const int32_t depth = p.a[p.a.size() - (p.transpose_a != 0 ? 2 : 1)];
  std::vector<int64_t> sums;
  Dims index(p.y.size(), 0);
  for (;;) {
    const int32_t m = index[p.y.size() - 2];
    const int32_t n = index[p.y.size() - 1];
    int64_t sum = o.bias[static_cast<size_t>(n)];
    const int64_t b_zero = o.b_zero.empty() ? 0 : o.b_zero[p.each ? static_cast<size_t>(n) : 0];
    for (int32_t k = 0; k < depth; ++k) {
      const bool ta = p.transpose_a != 0;
      const bool tb = p.transpose_b != 0;
      sum += (a[Place(p.a, index, ta ? k : m, ta ? m : k)] - o.a_zero) *
             (b[Place(p.b, index, tb ? n : k, tb ? k : n)] - b_zero);
    }
    sums.push_back(Wrap32(sum));
    size_t axis = p.y.size();
    while (axis-- > 0 && ++index[axis] == p.y[axis]) index[axis] = 0;
    if (axis == static_cast<size_t>(-1)) return sums;
  }
}

int64_t Expected(const QuantizedProduct& p, const Operands& o, const QuantizedOutput& output,
                 size_t column, int64_t sum) {
  if (p.y_dtype == DType::kI32) return sum;
  const size_t k = p.each ? column : 0;
  const QuantizedScale scale = {o.scales[k], o.multipliers[k], o.shifts[k]};
  return NaiveStored(output, NaiveRescale(scale, p.rounding, sum));
}

void Run(const QuantizedProduct& p, uint32_t seed) {
  CAPTURE(seed);
  Generator random(seed);
  QuantizedMatMulAttributes attributes;
  attributes.matmul.transpose_a = p.transpose_a;
  attributes.matmul.transpose_b = p.transpose_b;
  attributes.output =
      RandomOutput(p.y_dtype == DType::kU8 ? DType::kU8 : DType::kI8, p.rounding, random);
  attributes.output.to = static_cast<int32_t>(p.y_dtype);
  const int32_t depth = p.a[p.a.size() - (p.transpose_a != 0 ? 2 : 1)];
  const Operands o = MakeOperands(p, depth, random);
  OpFixture op(OpKind::kQuantizedMatMul);
  const Tensor a = op.AddInput(RandomBytesAndEnds(p.a_dtype, p.a, p.layout, random));
  const Tensor b = op.AddInput(RandomBytesAndEnds(p.b_dtype, p.b, p.layout, random));
  AddFactors(op, p, o);
  const Tensor y = op.AddOutput(Tensor(p.y_dtype, p.y, p.layout));
  const Status status = op.Run(attributes, p.threads);
  REQUIRE_MESSAGE(status.ok(), Words(status));
  CHECK(y.GapsIntact());
  const std::vector<int64_t> sums = NaiveSums(p, o, a, b);
  std::vector<int64_t> actual;
  if (p.y_dtype == DType::kI32) {
    for (const int32_t value : y.Values<int32_t>()) actual.push_back(value);
  } else {
    actual = Integers(y);
  }
  std::vector<int64_t> expected;
  for (size_t i = 0; i < sums.size(); ++i) {
    expected.push_back(
        Expected(p, o, attributes.output, i % static_cast<size_t>(p.y.back()), sums[i]));
  }
  CHECK(actual == expected);
}

TEST_CASE("Quantized matmul: every dtype, output and rounding") {
  uint32_t seed = 1;
  for (const DType a : {DType::kI8, DType::kU8}) {
    for (const DType b : {DType::kI8, DType::kU8}) {
      for (const DType y : {DType::kI8, DType::kU8, DType::kI32}) {
        for (const Rounding rounding :
             {Rounding::kFixedPoint, Rounding::kFixedPointOnce, Rounding::kHalfEven}) {
          QuantizedProduct p;
          p.a_dtype = a;
          p.b_dtype = b;
          p.y_dtype = y;
          p.rounding = y == DType::kI32 ? Rounding::kHalfEven : rounding;
          p.each = seed % 2 == 0;
          p.zeros = seed % 3 != 0;
          Run(p, seed++);
        }
      }
    }
  }
}

TEST_CASE("Quantized matmul: one row times transposed weights, short sums and long ones") {
  uint32_t seed = 100;
  for (const int32_t rows : {1, 2, 3}) {
    for (const int32_t depth : {1, 2, 15, 16, 64, 65, 640, 1001}) {
      for (const int32_t columns : {1, 7, 12, 130}) {
        QuantizedProduct p;
        p.a = {rows, depth};
        p.b = {columns, depth};
        p.y = {rows, columns};
        p.transpose_b = 1;
        p.a_dtype = seed % 2 == 0 ? DType::kU8 : DType::kI8;
        Run(p, seed++);
      }
    }
  }
}

TEST_CASE("Quantized matmul: transposed operands, batches that broadcast, gaps, threads") {
  Generator random(3);
  for (uint32_t seed = 400; seed < 480; ++seed) {
    QuantizedProduct p;
    const int32_t m = Pick(random, 1, 40);
    const int32_t n = Pick(random, 1, 20);
    const int32_t k = Pick(random, 1, 150);
    p.a.clear();
    p.b.clear();
    p.y.clear();
    for (int32_t i = Pick(random, 0, 2); i > 0; --i) {
      const int32_t dim = Pick(random, 1, 3);
      p.y.push_back(dim);
      p.b.push_back(dim);
      if (i == 1) p.a.push_back(Pick(random, 0, 1) == 0 ? 1 : dim);
    }
    p.transpose_a = Pick(random, 0, 1);
    p.transpose_b = Pick(random, 0, 1);
    for (const int32_t dim : p.transpose_a != 0 ? Dims{k, m} : Dims{m, k}) p.a.push_back(dim);
    for (const int32_t dim : p.transpose_b != 0 ? Dims{n, k} : Dims{k, n}) p.b.push_back(dim);
    p.y.push_back(m);
    p.y.push_back(n);
    p.layout = Pick(random, 0, 1) == 0 ? Layout::kRowMajor : Layout::kRowMajorGaps;
    p.threads = Pick(random, 1, 3);
    Run(p, seed);
  }
}

}  // namespace
}  // namespace tenon::cpu::testing

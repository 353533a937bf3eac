// Reductions, softmax and normalisations. Rows that work-groups share, as on
// GPUs, are tried on whatever device there is.
#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "tests/unit/backends/opencl/opencl_fixture.hpp"
#include "tests/unit/backends/opencl/row_groups.hpp"

namespace tenon::opencl::testing {
namespace {

std::vector<int32_t> ReducedDims(const std::vector<int32_t>& dims, int32_t mask, bool keep) {
  std::vector<int32_t> reduced;
  for (size_t k = 0; k < dims.size(); ++k) {
    if ((mask >> k & 1) == 0) {
      reduced.push_back(dims[k]);
    } else if (keep) {
      reduced.push_back(1);
    }
  }
  return reduced;
}

void CheckReduce(ReduceFunction function, const std::vector<int32_t>& dims, int32_t mask, bool keep,
                 Layout x, Layout y, Generator& random, void* device = TheDevice()) {
  CAPTURE(kReduceFunctionNames[static_cast<int>(function)]);
  CAPTURE(mask);
  ReduceAttributes attributes;
  attributes.function = function;
  attributes.axes_mask = mask;
  attributes.keep_dims = keep ? 1 : 0;
  const bool is_positive = function == ReduceFunction::kLogSum;
  PairedOp op("opencl.reduce.any");
  op.AddInput(Random(dims, x, random, is_positive ? 0.1F : -1.2F, 1.2F));
  op.AddOutput(ReducedDims(dims, mask, keep), y);
  CHECK(op.Excess(attributes, 1, device) <= 1.0);
}

}  // namespace

TEST_CASE("OpenCL reduce: every function along every set of axes") {
  Generator random(1);
  for (int i = 0; i < kReduceFunctionCount; ++i) {
    for (int32_t mask = 0; mask < 16; mask += IsUnderOclgrind() ? 5 : 1) {
      CheckReduce(static_cast<ReduceFunction>(i), {2, 37, 3, 5}, mask, true, Layout::kChannelsLast,
                  Layout::kChannelsLast, random);
    }
  }
}

TEST_CASE("OpenCL reduce: any layout, dimensions kept or not") {
  Generator random(2);
  for (const Layout x : TestedLayouts()) {
    for (const Layout y : TestedLayouts()) {
      for (const int32_t mask : {0b0010, 0b1100, 0b1000, 0b1111, 0b0101}) {
        CheckReduce(ReduceFunction::kMean, {2, 21, 3, 18}, mask, true, x, y, random);
        CheckReduce(ReduceFunction::kMax, {2, 21, 3, 18}, mask, false, x, Layout::kRowMajor,
                    random);
      }
    }
  }
}

TEST_CASE("OpenCL reduce: eight dimensions in alternation, and sums of nothing") {
  Generator random(3);
  CheckReduce(ReduceFunction::kSum, {2, 3, 2, 3, 2, 3, 2, 3}, 0b01010101, true, Layout::kRowMajor,
              Layout::kRowMajor, random);
  CheckReduce(ReduceFunction::kSum, {2, 3, 2, 3, 2, 3, 2, 3}, 0b10101010, true,
              Layout::kRowMajorGaps, Layout::kRowMajorGaps, random);
  CheckReduce(ReduceFunction::kSum, {2, 3, 2, 3, 2, 3, 2, 3}, 0b11111111, true,
              Layout::kRowMajorGaps, Layout::kRowMajorGaps, random);
  CheckReduce(ReduceFunction::kSum, {3, 0}, 0b10, true, Layout::kRowMajor, Layout::kRowMajor,
              random);
  CheckReduce(ReduceFunction::kProd, {3, 0}, 0b10, true, Layout::kRowMajor, Layout::kRowMajor,
              random);
}

TEST_CASE("OpenCL reduce: long sums keep their accuracy") {
  Generator random(4);
  const int32_t length = IsUnderOclgrind() ? 1000 : 100000;
  CheckReduce(ReduceFunction::kSum, {3, length}, 0b10, true, Layout::kRowMajor, Layout::kRowMajor,
              random);
  CheckReduce(ReduceFunction::kSumSquare, {length / 5, 20}, 0b01, true, Layout::kRowMajor,
              Layout::kRowMajor, random);
}

TEST_CASE("OpenCL reduce: the mean of equal values is that value, however many they are") {
  for (const float value : {0.1F, -3.7F, 1234.567F}) {
    for (const int32_t length : {1, 3, 7, 49, 65, 197, 768, IsUnderOclgrind() ? 1001 : 12544}) {
      for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLastSpaced}) {
        for (const int32_t mask : {0b01, 0b10}) {
          CAPTURE(value);
          CAPTURE(length);
          CAPTURE(mask);
          const std::vector<int32_t> dims = {mask == 0b01 ? length : 19,
                                             mask == 0b01 ? 19 : length};
          DeviceOp op("opencl.reduce.any");
          op.AddInput(Tensor::From(DType::kF32, dims,
                                   std::vector<float>(static_cast<size_t>(length) * 19, value),
                                   layout));
          op.AddOutput(Tensor(DType::kF32, {19}));
          REQUIRE(op.Run(ReduceAttributes{ReduceFunction::kMean, mask, 0}).ok());
          CHECK(op.output().Values<float>() == std::vector<float>(19, value));
        }
      }
    }
  }
}

TEST_CASE("OpenCL reduce: a sum of infinities is one, and one beyond all numbers too") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& row : {std::vector<float>{1, infinity, 2}, {3e38F, 3e38F, 0}}) {
    DeviceOp op("opencl.reduce.any");
    op.AddInput(Tensor::From(DType::kF32, {1, 3}, row));
    op.AddOutput(Tensor(DType::kF32, {1}));
    REQUIRE(op.Run(ReduceAttributes{ReduceFunction::kSum, 0b10, 0}).ok());
    CHECK(op.output().Values<float>()[0] == infinity);
  }
}

TEST_CASE("OpenCL reduce: NaN is the maximum, and an infinite one shifts no logarithm") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const ReduceFunction function :
       {ReduceFunction::kMax, ReduceFunction::kMin, ReduceFunction::kLogSumExp}) {
    for (const float special : {nan, infinity, -infinity}) {
      std::vector<float> values(60, 1.0F);
      values[7] = values[50] = special;
      ReduceAttributes attributes;
      attributes.function = function;
      attributes.axes_mask = 2;
      PairedOp op("opencl.reduce.any");
      op.AddInput(Tensor::From<float>(DType::kF32, {2, 30}, values));
      op.AddOutput({2, 1}, Layout::kRowMajor);
      CHECK(op.Excess(attributes) <= 1.0);
    }
  }
}

TEST_CASE("OpenCL cum_sum: along every axis in any layout, in every form") {
  Generator random(11);
  int form = 0;
  for (const Layout x : TestedLayouts()) {
    for (const Layout y : TestedLayouts()) {
      for (int32_t axis = 0; axis < 4; ++axis, ++form) {
        const CumSumAttributes attributes = {axis, form % 2, form / 2 % 2};
        PairedOp op("opencl.cum_sum.any");
        op.AddInput(Random({2, 37, 3, 19}, x, random, -8.0F, 8.0F));
        op.AddOutput({2, 37, 3, 19}, y);
        CHECK(op.Excess(attributes) <= 1.0);
      }
    }
  }
}

TEST_CASE("OpenCL cum_sum: the memory may be the input's") {
  Generator random(12);
  for (const int32_t exclusive : {0, 1}) {
    const Tensor x = Random({3, 1001}, Layout::kRowMajor, random, 0.0F, 1.0F);
    PairedOp op("opencl.cum_sum.any");
    op.AddInput(x);
    op.AddOutputInPlace(0, x);
    CHECK(op.Excess(CumSumAttributes{1, exclusive, 0}) <= 1.0);
  }
}

TEST_CASE("OpenCL layer_norm: in any layout, with and without mean and bias") {
  Generator random(13);
  int form = 0;
  for (const Layout x : TestedLayouts()) {
    for (const Layout y : TestedLayouts()) {
      for (const int32_t rms : {0, 1}) {
        PairedOp op("opencl.layer_norm.any");
        op.AddInput(Random({2, 5, 3, 77}, x, random, -8.0F, 8.0F));
        op.AddInput(Random({77}, Layout::kRowMajor, random, -2.0F, 2.0F));
        if (++form % 2 == 0) op.AddInput(Random({77}, Layout::kRowMajor, random, -2.0F, 2.0F));
        op.AddOutput({2, 5, 3, 77}, y);
        CHECK(op.Excess(LayerNormAttributes{1e-5F, rms}) <= 1.0);
      }
    }
  }
}

TEST_CASE("OpenCL softmax: along every axis in any layout, plain and logarithmic") {
  Generator random(5);
  for (const Layout x : TestedLayouts()) {
    for (const Layout y : TestedLayouts()) {
      for (int32_t axis = 0; axis < 4; ++axis) {
        SoftmaxAttributes attributes;
        attributes.axis = axis;
        attributes.log = (axis + static_cast<int>(x)) % 2;
        PairedOp op("opencl.softmax.any");
        op.AddInput(Random({2, 37, 3, 19}, x, random, -8.0F, 8.0F));
        op.AddOutput({2, 37, 3, 19}, y);
        CHECK(op.Excess(attributes) <= 1.0);
      }
    }
  }
}

TEST_CASE("OpenCL softmax: large elements do not overflow; the memory may be the input's") {
  Generator random(6);
  for (const int32_t log : {0, 1}) {
    SoftmaxAttributes attributes;
    attributes.axis = 1;
    attributes.log = log;
    const Tensor x = Random({3, 1001}, Layout::kRowMajor, random, -900.0F, 900.0F);
    PairedOp op("opencl.softmax.any");
    op.AddInput(x);
    op.AddOutputInPlace(0, x);
    CHECK(op.Excess(attributes) <= 1.0);
  }
}

TEST_CASE("OpenCL softmax: rows of every length to 70") {
  Generator random(7);
  for (int32_t length = 1; length <= 70; length += IsUnderOclgrind() ? 11 : 1) {
    SoftmaxAttributes attributes;
    attributes.axis = 1;
    PairedOp op("opencl.softmax.any");
    op.AddInput(Random({5, length}, Layout::kRowMajor, random, -2.0F, 2.0F));
    op.AddOutput({5, length}, Layout::kRowMajor);
    CHECK(op.Excess(attributes) <= 1.0);
  }
}

TEST_CASE("OpenCL lrn: windows of any size in any layout") {
  Generator random(8);
  for (const Layout x : TestedLayouts()) {
    for (const Layout y : TestedLayouts()) {
      for (const int32_t size : {1, 2, 5, 60}) {
        for (const float beta : {0.75F, 1.3F}) {
          LrnAttributes attributes;
          attributes.size = size;
          attributes.alpha = 0.3F;
          attributes.beta = beta;
          attributes.bias = 1.5F;
          PairedOp op("opencl.lrn.any");
          op.AddInput(Random({2, 37, 3, 4}, x, random));
          op.AddOutput({2, 37, 3, 4}, y);
          CHECK(op.Excess(attributes) <= 1.0);
        }
      }
    }
  }
}

TEST_CASE("OpenCL lrn: one channel, and two dimensions") {
  Generator random(9);
  for (const std::vector<int32_t>& dims :
       {std::vector<int32_t>{2, 1, 5, 5}, std::vector<int32_t>{7, 40}}) {
    LrnAttributes attributes;
    attributes.size = 5;
    attributes.alpha = 1.0F;
    PairedOp op("opencl.lrn.any");
    op.AddInput(Random(dims, Layout::kRowMajor, random));
    op.AddOutput(dims, Layout::kRowMajor);
    CHECK(op.Excess(attributes) <= 1.0);
  }
}

TEST_CASE("OpenCL reduce by work-groups: every function along every set of axes") {
  Generator random(21);
  for (int i = 0; i < kReduceFunctionCount; ++i) {
    for (int32_t mask = 1; mask < 16; mask += IsUnderOclgrind() ? 5 : 1) {
      CheckReduce(static_cast<ReduceFunction>(i), {2, 37, 3, 5}, mask, true, Layout::kRowMajor,
                  Layout::kRowMajor, random, Sharing(16));
    }
  }
}

TEST_CASE("OpenCL reduce by work-groups: any layout, more dimensions than loops, long sums") {
  Generator random(22);
  for (const Layout x : TestedLayouts()) {
    for (const Layout y : TestedLayouts()) {
      CheckReduce(ReduceFunction::kMean, {2, 21, 3, 18}, 0b1100, true, x, y, random, Sharing(16));
      CheckReduce(ReduceFunction::kLogSumExp, {2, 21, 3, 18}, 0b1010, true, x, y, random,
                  Sharing(16));
    }
  }
  CheckReduce(ReduceFunction::kSum, {2, 3, 2, 3, 2, 3, 2, 3}, 0b10101010, true,
              Layout::kRowMajorGaps, Layout::kRowMajorGaps, random, Sharing(64));
  const int32_t length = IsUnderOclgrind() ? 1000 : 100000;
  CheckReduce(ReduceFunction::kSum, {3, length}, 0b10, true, Layout::kRowMajor, Layout::kRowMajor,
              random, Sharing(64));
}

TEST_CASE("OpenCL reduce by work-groups: the mean of equal values is that value") {
  for (const float value : {0.1F, -3.7F, 1234.567F}) {
    for (const int32_t length : {64, 65, 197, 768, IsUnderOclgrind() ? 1001 : 12544}) {
      CAPTURE(value);
      CAPTURE(length);
      DeviceOp op("opencl.reduce.any");
      op.AddInput(Tensor::From(DType::kF32, {3, length},
                               std::vector<float>(static_cast<size_t>(length) * 3, value)));
      op.AddOutput(Tensor(DType::kF32, {3}));
      REQUIRE(op.Run(ReduceAttributes{ReduceFunction::kMean, 0b10, 0}, 1, Sharing(64)).ok());
      CHECK(op.output().Values<float>() == std::vector<float>(3, value));
    }
  }
}

TEST_CASE("OpenCL reduce by work-groups: NaN and infinities as by work-items") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const ReduceFunction function : {ReduceFunction::kSum, ReduceFunction::kMax,
                                        ReduceFunction::kMin, ReduceFunction::kLogSumExp}) {
    for (const float special : {nan, infinity, -infinity}) {
      std::vector<float> values(200, 1.0F);
      values[7] = values[150] = special;
      PairedOp op("opencl.reduce.any");
      op.AddInput(Tensor::From<float>(DType::kF32, {2, 100}, values));
      op.AddOutput({2, 1}, Layout::kRowMajor);
      CHECK(op.Excess(ReduceAttributes{function, 0b10, 1}, 1, Sharing(64)) <= 1.0);
    }
  }
}

TEST_CASE(
    "OpenCL softmax by work-groups: along every axis, of every length, in the input's memory") {
  Generator random(23);
  for (const int items : {16, 64}) {
    for (const Layout x : TestedLayouts()) {
      for (int32_t axis = 0; axis < 4; ++axis) {
        SoftmaxAttributes attributes;
        attributes.axis = axis;
        attributes.log = axis % 2;
        PairedOp op("opencl.softmax.any");
        op.AddInput(Random({8, 37, 3, 19}, x, random, -8.0F, 8.0F));
        op.AddOutput({8, 37, 3, 19}, Layout::kChannelsLastSpaced);
        CHECK(op.Excess(attributes, 1, Sharing(items)) <= 1.0);
      }
    }
    for (const int32_t length : {8, 9, 31, 32, 63, 64, 65, 200, 1001}) {
      const Tensor x = Random({5, length}, Layout::kRowMajor, random, -900.0F, 900.0F);
      SoftmaxAttributes attributes;
      attributes.axis = 1;
      attributes.log = length % 2;
      PairedOp op("opencl.softmax.any");
      op.AddInput(x);
      op.AddOutputInPlace(0, x);
      CHECK(op.Excess(attributes, 1, Sharing(items)) <= 1.0);
    }
  }
}

TEST_CASE("OpenCL layer_norm by work-groups: in any layout, with and without mean and bias") {
  Generator random(24);
  int form = 0;
  for (const int items : {16, 64}) {
    for (const Layout x : TestedLayouts()) {
      for (const int32_t rms : {0, 1}) {
        PairedOp op("opencl.layer_norm.any");
        op.AddInput(Random({2, 5, 3, 77}, x, random, -8.0F, 8.0F));
        op.AddInput(Random({77}, Layout::kRowMajor, random, -2.0F, 2.0F));
        if (++form % 2 == 0) op.AddInput(Random({77}, Layout::kRowMajor, random, -2.0F, 2.0F));
        op.AddOutput({2, 5, 3, 77}, Layout::kRowMajorGaps);
        CHECK(op.Excess(LayerNormAttributes{1e-5F, rms}, 1, Sharing(items)) <= 1.0);
      }
    }
  }
}

}  // namespace tenon::opencl::testing

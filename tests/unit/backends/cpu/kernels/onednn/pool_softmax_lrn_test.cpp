#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/paired_op.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr double kPoolTolerance = 1e-5;

struct PoolCase {
  const char* name;
  std::vector<int32_t> x;
  std::vector<int32_t> y;
  PoolAttributes attributes;
};

PoolAttributes Pool(int32_t kernel, int32_t stride, int32_t pad, bool ceil_mode = false) {
  PoolAttributes attributes;
  for (int i = 0; i < 2; ++i) {
    attributes.kernel[i] = kernel;
    attributes.strides[i] = stride;
    attributes.pads[i] = pad;
    attributes.pads[2 + i] = pad;
  }
  attributes.ceil_mode = ceil_mode ? 1 : 0;
  return attributes;
}

std::vector<PoolCase> PoolCases() {
  return {
      {"2x2", {1, 32, 8, 8}, {1, 32, 4, 4}, Pool(2, 2, 0)},
      {"3x3, padded", {2, 16, 7, 7}, {2, 16, 4, 4}, Pool(3, 2, 1)},
      {"3x3, what is left over is dropped", {1, 16, 8, 8}, {1, 16, 3, 3}, Pool(3, 2, 0)},
      {"3x3, ceil", {1, 16, 8, 8}, {1, 16, 4, 4}, Pool(3, 2, 0, true)},
      {"3x3, ceil, padded", {1, 16, 8, 6}, {1, 16, 5, 4}, Pool(3, 2, 1, true)},
      {"odd channels", {1, 7, 9, 9}, {1, 7, 9, 9}, Pool(3, 1, 1)},
      {"global", {1, 40, 7, 7}, {1, 40, 1, 1}, Pool(7, 1, 0)},
  };
}

PairedOp MakeOp(const PoolCase& c, const char* fast, const char* portable, Generator& random) {
  PairedOp op(fast, portable);
  op.AddInput(Random(c.x, Layout::kChannelsLast, random));
  op.AddOutput(c.y, Layout::kChannelsLast);
  return op;
}

PairedOp MakeSoftmax(const char* kernel, const std::vector<int32_t>& dims, Layout layout,
                     Generator& random) {
  PairedOp op(kernel, "cpu.softmax.portable");
  op.AddInput(Random(dims, layout, random, -20.0F, 20.0F));
  op.AddOutput(dims, layout);
  return op;
}

}  // namespace

TEST_CASE("MaxPool on oneDNN: agrees with the portable kernel") {
  Generator random(1);
  for (const PoolCase& c : PoolCases()) {
    for (const int threads : {1, 2}) {
      CAPTURE(c.name);
      PairedOp op = MakeOp(c, "cpu.max_pool.onednn", "cpu.max_pool.portable", random);
      CHECK(op.Difference(c.attributes, threads) == 0.0);
    }
  }
}

TEST_CASE("MaxPool on oneDNN: padding never wins over negative values") {
  Generator random(2);
  PairedOp op("cpu.max_pool.onednn", "cpu.max_pool.portable");
  op.AddInput(Random({1, 16, 5, 5}, Layout::kChannelsLast, random, -3.0F, -1.0F));
  op.AddOutput({1, 16, 5, 5}, Layout::kChannelsLast);
  CHECK(op.Difference(Pool(3, 1, 1), 1) == 0.0);
}

TEST_CASE("AveragePool on oneDNN: counts padding exactly as asked, or refuses") {
  Generator random(3);
  int refused = 0;
  for (PoolCase c : PoolCases()) {
    for (const int32_t include : {0, 1}) {
      for (const int threads : {1, 2}) {
        CAPTURE(c.name);
        CAPTURE(include);
        c.attributes.count_include_pad = include;
        PairedOp op = MakeOp(c, "cpu.average_pool.onednn", "cpu.average_pool.portable", random);
        if (!op.Check(c.attributes).ok()) {
          ++refused;
          continue;
        }
        CHECK(op.Difference(c.attributes, threads) < kPoolTolerance);
      }
    }
  }
  CHECK(refused == 4);  // the two ceil cases that count padding, each on 1 and 2 threads
}

TEST_CASE("Pooling on oneDNN: refuses dilation and other layouts") {
  Generator random(4);
  PoolCase c = {"dilated", {1, 16, 9, 9}, {1, 16, 5, 5}, Pool(3, 1, 0)};
  c.attributes.dilations[0] = c.attributes.dilations[1] = 2;
  CHECK(MakeOp(c, "cpu.max_pool.onednn", "cpu.max_pool.portable", random)
            .Check(c.attributes)
            .code() == StatusCode::kUnsupported);
  PairedOp op("cpu.average_pool.onednn", "cpu.average_pool.portable");
  op.AddInput(Random({1, 16, 8, 8}, Layout::kRowMajor, random));
  op.AddOutput({1, 16, 4, 4}, Layout::kRowMajor);
  CHECK(op.Check(Pool(2, 2, 0)).code() == StatusCode::kUnsupported);
}

TEST_CASE("Softmax on oneDNN: agrees with the portable kernel along the last axis") {
  Generator random(5);
  for (const int32_t log : {0, 1}) {
    for (const std::vector<int32_t>& dims :
         {std::vector<int32_t>{1, 1000}, {7}, {3, 4, 17}, {2, 3, 5, 64}}) {
      PairedOp op = MakeSoftmax("cpu.softmax.onednn", dims, Layout::kRowMajor, random);
      const SoftmaxAttributes attributes = {static_cast<int32_t>(dims.size()) - 1, log};
      CHECK(op.Difference(attributes, 2) < kPoolTolerance);
    }
  }
}

TEST_CASE("Softmax on oneDNN: a single element is certain") {
  Generator random(11);
  PairedOp op = MakeSoftmax("cpu.softmax.onednn", {5, 1}, Layout::kRowMajor, random);
  CHECK(op.Difference(SoftmaxAttributes{1, 0}, 1) < kPoolTolerance);
}

TEST_CASE("Softmax on oneDNN: works in place") {
  Generator random(6);
  PairedOp op("cpu.softmax.onednn", "cpu.softmax.portable");
  op.AddInputThatIsOutput({12, 50}, Layout::kRowMajor, RandomValues(600, random));
  CHECK(op.Difference(SoftmaxAttributes{1, 0}, 1) < kPoolTolerance);
}

TEST_CASE("Softmax on oneDNN: runs over the channels of a channels-last tensor") {
  Generator random(7);
  PairedOp op =
      MakeSoftmax("cpu.softmax.onednn_channels", {2, 21, 9, 5}, Layout::kChannelsLast, random);
  CHECK(op.Difference(SoftmaxAttributes{1, 0}, 2) < kPoolTolerance);
}

TEST_CASE("Softmax on oneDNN: refuses an axis that is not innermost") {
  Generator random(8);
  CHECK(MakeSoftmax("cpu.softmax.onednn", {4, 5}, Layout::kRowMajor, random)
            .Check(SoftmaxAttributes{0, 0})
            .code() == StatusCode::kUnsupported);
  CHECK(MakeSoftmax("cpu.softmax.onednn_channels", {1, 4, 5, 6}, Layout::kRowMajor, random)
            .Check(SoftmaxAttributes{1, 0})
            .code() == StatusCode::kUnsupported);
}

TEST_CASE("LRN on oneDNN: agrees with the portable kernel") {
  Generator random(9);
  for (const int32_t size : {3, 5}) {
    for (const int threads : {1, 2}) {
      PairedOp op("cpu.lrn.onednn", "cpu.lrn.portable");
      op.AddInput(Random({2, 96, 7, 5}, Layout::kChannelsLast, random, -30.0F, 30.0F));
      op.AddOutput({2, 96, 7, 5}, Layout::kChannelsLast);
      LrnAttributes attributes;
      attributes.size = size;
      attributes.alpha = 0.02F;
      attributes.bias = 2.0F;
      CHECK(op.Difference(attributes, threads) < kPoolTolerance);
    }
  }
}

TEST_CASE("LRN on oneDNN: refuses a window without a centre") {
  Generator random(10);
  PairedOp op("cpu.lrn.onednn", "cpu.lrn.portable");
  op.AddInput(Random({1, 32, 3, 3}, Layout::kChannelsLast, random));
  op.AddOutput({1, 32, 3, 3}, Layout::kChannelsLast);
  LrnAttributes attributes;
  attributes.size = 4;
  CHECK(op.Check(attributes).code() == StatusCode::kUnsupported);
}

}  // namespace tenon::cpu::testing

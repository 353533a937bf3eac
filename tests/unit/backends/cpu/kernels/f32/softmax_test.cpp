#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kSoftmaxOfRows = "cpu.softmax.vector";
constexpr const char* kSoftmaxOfChannels = "cpu.softmax.vector_channels";
constexpr const char* kPortableSoftmax = "cpu.softmax.portable";
// Two units in the last place of an exponential, and sums in another order.
constexpr double kSoftmaxTolerance = 1e-6;

std::vector<float> SoftmaxOf(const std::vector<float>& x, int32_t log) {
  const auto count = static_cast<int32_t>(x.size());
  return RunUnary(kSoftmaxOfRows, Tensor::From(DType::kF32, {count}, x), {count}, Layout::kRowMajor,
                  SoftmaxAttributes{0, log}, 1);
}

}  // namespace

TEST_CASE("Vector softmax: agrees with the portable kernel on rows of any length") {
  ForEachInstructionSet([] {
    Generator random(1);
    for (int32_t count = 1; count <= 1100; count += count < 70 ? 1 : 103) {
      for (const int32_t log : {0, 1}) {
        CAPTURE(count);
        CAPTURE(log);
        const std::vector<int32_t> dims = {Pick(random, 1, 3), Pick(random, 1, 20), count};
        PairedOp op(kSoftmaxOfRows, kPortableSoftmax);
        op.AddInput(Random(dims, Layout::kRowMajor, random, -20.0F, 20.0F));
        op.AddOutput(dims, Layout::kRowMajor);
        CHECK(op.Difference(SoftmaxAttributes{2, log}, Pick(random, 1, 3)) < kSoftmaxTolerance);
      }
    }
  });
}

TEST_CASE("Vector softmax: agrees with the portable kernel along other dimensions, in place too") {
  ForEachInstructionSet([] {
    Generator random(7);
    for (int i = 0; i < 60; ++i) {
      const std::vector<int32_t> dims = {Pick(random, 1, 3), Pick(random, 1, 40),
                                         Pick(random, 4, 9), 1, Pick(random, 4, 50)};
      CAPTURE(i);
      PairedOp op(kSoftmaxOfRows, kPortableSoftmax);
      if (i % 3 == 0) {
        const int32_t elements = dims[0] * dims[1] * dims[2] * dims[4];
        op.AddInputThatIsOutput(dims, Layout::kRowMajor,
                                RandomValues(static_cast<size_t>(elements), random));
      } else {
        op.AddInput(Random(dims, Layout::kRowMajor, random, -20.0F, 20.0F));
        op.AddOutput(dims, Layout::kRowMajor);
      }
      const SoftmaxAttributes attributes = {Pick(random, 0, 1), Pick(random, 0, 1)};
      CHECK(op.Difference(attributes, Pick(random, 1, 3)) < kSoftmaxTolerance);
    }
  });
}

TEST_CASE("Vector softmax: every probability is as accurate as the largest") {
  ForEachInstructionSet([] {
    for (const size_t count : {9, 30, 50}) {
      std::vector<float> x(count);
      double sum = 0.0;
      for (size_t i = 0; i < count; ++i) {
        x[i] = -1.7F * static_cast<float>(i);
        sum += std::exp(static_cast<double>(x[i]));
      }
      const std::vector<float> y = SoftmaxOf(x, 0);
      for (size_t i = 0; i < count; ++i) {
        const double expected = std::exp(static_cast<double>(x[i])) / sum;
        CHECK(std::abs(static_cast<double>(y[i]) - expected) <= 6e-7 * expected);
      }
    }
  });
}

TEST_CASE("Vector softmax: over the channels of strided images") {
  ForEachInstructionSet([] {
    Generator random(2);
    for (int i = 0; i < 60; ++i) {
      const std::vector<int32_t> dims = {Pick(random, 1, 3), Pick(random, 1, 90),
                                         Pick(random, 1, 9), Pick(random, 1, 9)};
      PairedOp op(kSoftmaxOfChannels, kPortableSoftmax);
      op.AddInput(Random(dims, PickChannelsLast(random), random, -20.0F, 20.0F));
      op.AddOutput(dims, PickChannelsLast(random));
      const SoftmaxAttributes attributes = {1, Pick(random, 0, 1)};
      CHECK(op.Difference(attributes, Pick(random, 1, 3)) < kSoftmaxTolerance);
    }
  });
}

TEST_CASE("Vector softmax: works in place") {
  ForEachInstructionSet([] {
    Generator random(3);
    for (const int32_t count : {2, 50}) {
      for (const int32_t log : {0, 1}) {
        PairedOp op(kSoftmaxOfRows, kPortableSoftmax);
        op.AddInputThatIsOutput({30, count}, Layout::kRowMajor,
                                RandomValues(static_cast<size_t>(30 * count), random));
        CHECK(op.Difference(SoftmaxAttributes{1, log}, 1) < kSoftmaxTolerance);
      }
    }
  });
}

TEST_CASE("Vector softmax: the same bits whatever the number of threads") {
  ForEachInstructionSet([] {
    Generator random(4);
    for (const int32_t count : {2, 31, 197}) {
      const std::vector<int32_t> dims = {40'000 / count, count};
      const Tensor x = Random(dims, Layout::kRowMajor, random, -5.0F, 5.0F);
      for (const int32_t log : {0, 1}) {
        const auto run = [&](int threads) {
          return RunUnary(kSoftmaxOfRows, x, dims, Layout::kRowMajor, SoftmaxAttributes{1, log},
                          threads);
        };
        const std::vector<float> first = run(1);
        CHECK(run(2) == first);
        CHECK(run(3) == first);
      }
    }
  });
}

TEST_CASE("Vector softmax: NaN spoils its whole row and no other") {
  ForEachInstructionSet([] {
    Generator random(5);
    for (const int32_t count : {3, 40}) {
      for (const int32_t log : {0, 1}) {
        Tensor x = Random({5, count}, Layout::kRowMajor, random);
        std::vector<float> values = x.Values<float>();
        values[static_cast<size_t>(2 * count + 1)] = std::numeric_limits<float>::quiet_NaN();
        x.Set(values);
        const std::vector<float> y = RunUnary(kSoftmaxOfRows, x, {5, count}, Layout::kRowMajor,
                                              SoftmaxAttributes{1, log}, 1);
        for (size_t i = 0; i < y.size(); ++i) {
          CHECK(std::isnan(y[i]) == (i / static_cast<size_t>(count) == 2));
        }
      }
    }
  });
}

TEST_CASE("Vector softmax: minus infinity has probability zero") {
  ForEachInstructionSet([] {
    for (const size_t count : {4, 45}) {
      std::vector<float> x(count, -std::numeric_limits<float>::infinity());
      x[1] = 3.0F;
      x[count - 1] = 3.0F;
      const std::vector<float> y = SoftmaxOf(x, 0);
      const std::vector<float> logs = SoftmaxOf(x, 1);
      for (size_t i = 0; i < count; ++i) {
        const bool possible = i == 1 || i == count - 1;
        CHECK(y[i] == (possible ? 0.5F : 0.0F));
        CHECK(std::isinf(logs[i]) != possible);
      }
    }
  });
}

TEST_CASE("Vector softmax: a row of minus infinities alone is NaN") {
  ForEachInstructionSet([] {
    for (const size_t count : {4, 45}) {
      for (const float value :
           SoftmaxOf(std::vector<float>(count, -std::numeric_limits<float>::infinity()), 0)) {
        CHECK(std::isnan(value));
      }
    }
  });
}

TEST_CASE("Vector softmax: refuses an axis that is not innermost") {
  Generator random(6);
  PairedOp rows(kSoftmaxOfRows, kPortableSoftmax);
  rows.AddInput(Random({4, 5}, Layout::kRowMajor, random));
  rows.AddOutput({4, 5}, Layout::kRowMajor);
  CHECK(rows.Check(SoftmaxAttributes{0, 0}).code() == StatusCode::kUnsupported);
  PairedOp channels(kSoftmaxOfChannels, kPortableSoftmax);
  channels.AddInput(Random({1, 4, 5, 6}, Layout::kRowMajor, random));
  channels.AddOutput({1, 4, 5, 6}, Layout::kRowMajor);
  CHECK(channels.Check(SoftmaxAttributes{1, 0}).code() == StatusCode::kUnsupported);
}

}  // namespace tenon::cpu::testing

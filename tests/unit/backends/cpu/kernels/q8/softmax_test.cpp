#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/q8/bytes_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kBytesSoftmax = "cpu.quantized_softmax.bytes";
constexpr const char* kPortableSoftmax = "cpu.quantized_softmax.portable";

/// TFLite's: differences in Q5, of which those below the least do not count.
QuantizedSoftmaxAttributes FixedPointAttributes(DType to, int32_t axis, Generator& random) {
  QuantizedSoftmaxAttributes attributes;
  attributes.softmax.axis = axis;
  attributes.output = PickOutput(to, Rounding::kFixedPoint, random);
  attributes.scale = QuantizedScale();
  attributes.scale.multiplier = Pick(random, 1 << 30, INT32_MAX);
  attributes.scale.shift = Pick(random, 18, 25);
  attributes.least_difference = Pick(random, -255, -20);
  return attributes;
}

QuantizedSoftmaxAttributes AttributesOf(DType to, int32_t axis, float scale, Generator& random) {
  QuantizedSoftmaxAttributes attributes;
  attributes.softmax.axis = axis;
  attributes.scale.scale = scale;
  attributes.output = PickOutput(to, Rounding::kHalfEven, random);
  if (Pick(random, 0, 1) == 0) attributes.output_scale = 0.001F;
  return attributes;
}

void CheckAgree(const std::vector<int32_t>& dims, float scale, Generator& random) {
  const DType from = PickByteType(random);
  const DType to = PickByteType(random);
  ByteOp op(kBytesSoftmax, kPortableSoftmax);
  op.AddInput(RandomBytes(from, dims, Layout::kRowMajor, random));
  op.AddOutput(to, dims, Layout::kRowMajor);
  const auto axis = static_cast<int32_t>(dims.size()) - 1;
  CHECK(op.Agree<uint8_t>(AttributesOf(to, axis, scale, random), Pick(random, 1, 3)));
}

}  // namespace

TEST_CASE("Softmax of bytes: gives the portable kernel's bits on rows of any length") {
  ForEachQuantizedSet([] {
    Generator random(1);
    for (int32_t count = 1; count <= 700; count += count < 70 || count == 256 ? 1 : 31) {
      CAPTURE(count);
      CheckAgree({3, 2, count}, 0.01F * static_cast<float>(Pick(random, 1, 40)), random);
    }
    for (const int32_t count : {255, 256, 257}) CheckAgree({2, count}, 0.05F, random);
  });
}

TEST_CASE("Softmax of bytes: rows for several threads") {
  ForEachQuantizedSet([] {
    Generator random(2);
    CheckAgree({300, 197}, 0.1F, random);
  });
}

TEST_CASE("Softmax of bytes: scales whose differences leave the range of exp, or of floats") {
  ForEachQuantizedSet([] {
    Generator random(3);
    for (const float scale : {1e-30F, 3.0F, 1e6F, 3e36F, 3e38F}) {
      CAPTURE(scale);
      for (const int32_t count : {5, 40, 300}) CheckAgree({2, count}, scale, random);
    }
  });
}

TEST_CASE("Softmax of bytes: fixed point on rows of any length") {
  ForEachQuantizedSet([] {
    Generator random(5);
    for (int32_t count = 1; count <= 700; count += count < 40 || count == 256 ? 1 : 37) {
      CAPTURE(count);
      for (const int32_t rows : {1, 9}) {
        const std::vector<int32_t> dims = {rows, count};
        const DType to = PickByteType(random);
        ByteOp op(kBytesSoftmax, kPortableSoftmax);
        op.AddInput(RandomBytes(PickByteType(random), dims, Layout::kRowMajor, random));
        op.AddOutput(to, dims, Layout::kRowMajor);
        CHECK(op.Agree<uint8_t>(FixedPointAttributes(to, 1, random), Pick(random, 1, 3)));
      }
    }
  });
}

TEST_CASE("Softmax of bytes: other axes are left to the portable kernel") {
  Generator random(4);
  const auto check = [&](int32_t axis) {
    OpFixture op(FindKernel(kBytesSoftmax));
    op.AddInput(Tensor(DType::kI8, {4, 4}, Layout::kRowMajor));
    op.AddOutput(Tensor(DType::kI8, {4, 4}, Layout::kRowMajor));
    return op.Check(AttributesOf(DType::kI8, axis, 0.1F, random));
  };
  CHECK(check(1).ok());
  CHECK_FALSE(check(0).ok());
}

}  // namespace tenon::cpu::testing

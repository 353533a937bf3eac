#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

float Joined(ScatterFunction function, float old, float update) {
  switch (function) {
    case ScatterFunction::kAdd:
      return old + update;
    case ScatterFunction::kMul:
      return old * update;
    case ScatterFunction::kMax:
      return std::fmax(old, update);
    case ScatterFunction::kMin:
      return std::fmin(old, update);
    default:
      return update;
  }
}

TEST_CASE("Scatter: agrees with update after update, for every function and layout") {
  Generator random(1);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    Dims dims;
    for (int32_t k = Pick(random, 1, 4); k > 0; --k) dims.push_back(Pick(random, 1, 6));
    Dims update_dims = dims;
    update_dims[0] = Pick(random, 1, 9);  // more than rows: some are updated several times
    std::vector<int64_t> indices;
    for (int32_t k = 0; k < update_dims[0]; ++k) indices.push_back(Pick(random, 0, dims[0] - 1));
    const ScatterAttributes attributes = {static_cast<ScatterFunction>(Pick(random, 0, 4))};
    OpFixture op(OpKind::kScatter);
    const Tensor x = op.AddInput(Random(dims, kAllLayouts[Pick(random, 0, 4)], random));
    op.AddInput(Tensor::From(DType::kI64, {update_dims[0]}, indices));
    const Tensor updates =
        op.AddInput(Random(update_dims, kAllLayouts[Pick(random, 0, 4)], random));
    const bool in_place = Pick(random, 0, 2) == 0;
    std::vector<float> expected = x.Values<float>();
    const std::vector<float> given = updates.Values<float>();
    const size_t slice = expected.size() / static_cast<size_t>(dims[0]);
    for (size_t k = 0; k < given.size(); ++k) {
      float& old = expected[static_cast<size_t>(indices[k / slice]) * slice + k % slice];
      old = Joined(attributes.function, old, given[k]);
    }
    const Tensor y =
        op.AddOutput(in_place ? x : Tensor(DType::kF32, dims, kAllLayouts[Pick(random, 0, 4)]));
    REQUIRE(op.Run(attributes, Pick(random, 1, 3)).ok());
    CHECK(y.Values<float>() == expected);
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("Scatter: an index outside of the rows is an error, and nothing is written") {
  for (const int64_t index : {int64_t{-1}, int64_t{3}, INT64_MIN, INT64_MAX}) {
    CAPTURE(index);
    OpFixture op(OpKind::kScatter);
    const Tensor x = op.AddInput(Tensor::From(DType::kF32, {3}, std::vector<float>{1, 2, 3}));
    op.AddInput(Tensor::From(DType::kI64, {2}, std::vector<int64_t>{0, index}));
    op.AddInput(Tensor::From(DType::kF32, {2}, std::vector<float>{8, 9}));
    op.AddOutput(x);
    CHECK(op.Run(ScatterAttributes{}).code() == StatusCode::kInvalidArgument);
    CHECK(x.Values<float>() == std::vector<float>{1, 2, 3});
  }
}

TEST_CASE("Scatter: sums of integers wrap; what is replaced may have any dtype") {
  const auto run = [](DType dtype, ScatterFunction function, const auto& x, const auto& update,
                      const auto& expected) {
    OpFixture op(OpKind::kScatter);
    op.AddInput(Tensor::From(dtype, {1}, x));
    op.AddInput(Tensor::From(DType::kI32, {1}, std::vector<int32_t>{0}));
    op.AddInput(Tensor::From(dtype, {1}, update));
    const Tensor y = op.AddOutput(Tensor(dtype, {1}));
    REQUIRE(op.Run(ScatterAttributes{function}).ok());
    CHECK(y.Values<std::decay_t<decltype(expected[0])>>() == expected);
  };
  run(DType::kI32, ScatterFunction::kAdd, std::vector<int32_t>{INT32_MAX}, std::vector<int32_t>{1},
      std::vector<int32_t>{INT32_MIN});
  run(DType::kI64, ScatterFunction::kMul, std::vector<int64_t>{INT64_MAX}, std::vector<int64_t>{2},
      std::vector<int64_t>{-2});
  run(DType::kF64, ScatterFunction::kMax, std::vector<double>{1}, std::vector<double>{2},
      std::vector<double>{2});
  run(DType::kU8, ScatterFunction::kReplace, std::vector<uint8_t>{1}, std::vector<uint8_t>{200},
      std::vector<uint8_t>{200});
}

TEST_CASE("Scatter: bytes are replaced, not joined") {
  OpFixture op(OpKind::kScatter);
  op.AddInput(Tensor(DType::kU8, {3}));
  op.AddInput(Tensor::From(DType::kI64, {1}, std::vector<int64_t>{0}));
  op.AddInput(Tensor(DType::kU8, {1}));
  op.AddOutput(Tensor(DType::kU8, {3}));
  CHECK(op.Check(ScatterAttributes{ScatterFunction::kAdd}).code() == StatusCode::kUnsupported);
}

}  // namespace
}  // namespace tenon::cpu::testing

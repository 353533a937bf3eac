#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/movement_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

OpFixture MakeGather() { return OpFixture(OpKind::kGather); }

/// Random gather along `axis` with indices of type Index, negative ones included.
template <typename T, typename Index>
void CheckGather(DType dtype, DType index_dtype, const Dims& dims, const Dims& index_dims, int axis,
                 Generator& random, int threads) {
  const auto at = static_cast<size_t>(axis);
  Tensor indices(index_dtype, index_dims, PickLayout(random));
  std::vector<Index> positions(indices.count());
  for (Index& position : positions) {
    position = static_cast<Index>(Pick(random, -dims[at], dims[at] - 1));
  }
  indices.Set(positions);
  Dims out(dims.begin(), dims.begin() + axis);
  out.insert(out.end(), index_dims.begin(), index_dims.end());
  out.insert(out.end(), dims.begin() + axis + 1, dims.end());

  OpFixture op = MakeGather();
  op.AddInput(NumberedTensor<T>(dtype, dims, PickLayout(random)));
  op.AddInput(indices);
  const Tensor y = op.AddOutput(Tensor(dtype, out, PickLayout(random)));
  REQUIRE(op.Run(GatherAttributes{axis}, threads).ok());
  CHECK(y.Values<T>() == ExpectedFrom<T>(out, [&](const Dims& index) {
          const auto first = index.begin() + axis;
          const auto last = first + static_cast<std::ptrdiff_t>(index_dims.size());
          auto position = static_cast<int64_t>(
              positions[static_cast<size_t>(Ravel(Dims(first, last), index_dims))]);
          if (position < 0) position += dims[at];
          Dims source(index.begin(), first);
          source.push_back(static_cast<int32_t>(position));
          source.insert(source.end(), last, index.end());
          return Ravel(source, dims);
        }));
  CHECK(y.GapsIntact());
}

TEST_CASE("Gather: random shapes, axes, layouts and index types, for every element size") {
  Generator random(1);
  ForEachElementSize([&](auto word, DType dtype) {
    using T = decltype(word);
    for (int i = 0; i < 100; ++i) {
      const Dims dims = RandomDims(random, 1, 4);
      const Dims index_dims = RandomDims(random, 0, 3);
      const int axis = Pick(random, 0, static_cast<int32_t>(dims.size()) - 1);
      CheckGather<T, int32_t>(dtype, DType::kI32, dims, index_dims, axis, random, 1);
      CheckGather<T, int64_t>(dtype, DType::kI64, dims, index_dims, axis, random, 1);
    }
  });
}

TEST_CASE("Gather: large results are cut over threads without a trace") {
  Generator random(2);
  CheckGather<uint32_t, int64_t>(DType::kU32, DType::kI64, {50, 300}, {200}, 0, random, 3);
  CheckGather<uint32_t, int64_t>(DType::kU32, DType::kI64, {50, 300}, {1000}, 1, random, 3);
  CheckGather<uint32_t, int32_t>(DType::kU32, DType::kI32, {3, 70, 40}, {9, 90}, 1, random, 3);
}

TEST_CASE("Gather: frames of a signal, which overlap, and indices from the end before the first") {
  // Frames of 3 rows, every 2 rows; the last goes on from the last row to the first.
  OpFixture op = MakeGather();
  op.AddInput(NumberedTensor<uint32_t>(DType::kU32, {6, 2}, Layout::kRowMajor));
  const std::vector<int32_t> rows = {0, 1, 2, 2, 3, 4, 4, 5, -1, -2, -1, 0};
  op.AddInput(Tensor::From(DType::kI32, {4, 3}, rows));
  const Tensor y = op.AddOutput(Tensor(DType::kU32, {4, 3, 2}));
  REQUIRE(op.Run(GatherAttributes{0}).ok());
  std::vector<uint32_t> wanted;
  for (const int32_t row : rows) {
    const auto first = static_cast<uint32_t>(row < 0 ? row + 6 : row) * 2 + 1;
    wanted.insert(wanted.end(), {first, first + 1});
  }
  CHECK(y.Values<uint32_t>() == wanted);
}

TEST_CASE("Gather: windows of an image's rows, along the last axis and along one before it") {
  // Taps of 5 windows of 28 columns: runs of neighbours; for 70 windows of one they are too many.
  for (const auto& [taps, columns] : {std::pair(5, 28), std::pair(3, 5), std::pair(70, 1)}) {
    Dims index_dims = {taps, columns};
    std::vector<int64_t> positions;
    for (int tap = 0; tap < taps; ++tap) {
      for (int column = 0; column < columns; ++column) {
        positions.push_back(taps > 9 ? tap * 37 % 71 : tap + column);
      }
    }
    // The last tap once more from the end.
    positions.back() -= 80;
    for (const Dims& dims : {Dims{7, 80}, Dims{2, 3, 80, 5}, Dims{80, 3}}) {
      const int axis = dims[0] == 80 ? 0 : static_cast<int>(dims.size() == 2 ? 1 : 2);
      for (const int threads : {1, 3}) {
        OpFixture op = MakeGather();
        op.AddInput(NumberedTensor<uint32_t>(DType::kU32, dims, Layout::kRowMajor));
        op.AddInput(Tensor::From(DType::kI64, index_dims, positions));
        Dims out(dims.begin(), dims.begin() + axis);
        out.insert(out.end(), index_dims.begin(), index_dims.end());
        out.insert(out.end(), dims.begin() + axis + 1, dims.end());
        const Tensor y = op.AddOutput(Tensor(DType::kU32, out));
        REQUIRE(op.Run(GatherAttributes{axis}, threads).ok());
        CHECK(y.Values<uint32_t>() == ExpectedFrom<uint32_t>(out, [&](const Dims& index) {
                const auto first = index.begin() + axis;
                const int64_t position =
                    positions[static_cast<size_t>(Ravel(Dims(first, first + 2), index_dims))];
                Dims source(index.begin(), first);
                source.push_back(static_cast<int32_t>(position < 0 ? position + 80 : position));
                source.insert(source.end(), first + 2, index.end());
                return Ravel(source, dims);
              }));
      }
    }
  }
}

TEST_CASE("Gather: an index out of range is an error and nothing is written") {
  for (int64_t bad : {int64_t{5}, int64_t{-6}, int64_t{1} << 40}) {
    OpFixture op = MakeGather();
    op.AddInput(NumberedTensor<uint32_t>(DType::kU32, {5}, Layout::kRowMajor));
    op.AddInput(Tensor::From(DType::kI64, {3}, std::vector<int64_t>{0, bad, 2}));
    const Tensor y = op.AddOutput(Tensor(DType::kU32, {3}));
    const std::vector<uint32_t> before = y.Values<uint32_t>();
    const Status status = op.Run(GatherAttributes{0});
    CHECK(status.code() == StatusCode::kInvalidArgument);
#ifndef TENON_WITHOUT_WORDS
    CHECK(status.argument(0) == bad);
    CHECK(status.argument(1) == 5);
#endif
    CHECK(y.Values<uint32_t>() == before);
  }
}

TEST_CASE("Gather: no indices, and rows of nothing, give nothing") {
  for (const DType dtype : {DType::kI32, DType::kI64}) {
    for (const Dims& index_dims : {Dims{0}, Dims{3, 0}, Dims{0, 2}}) {
      OpFixture op = MakeGather();
      op.AddInput(NumberedTensor<uint32_t>(DType::kU32, {5, 3}, Layout::kRowMajor));
      op.AddInput(Tensor(dtype, index_dims));
      Dims out = index_dims;
      out.push_back(3);
      op.AddOutput(Tensor(DType::kU32, out));
      CHECK(op.Run(GatherAttributes{0}).ok());
    }
    OpFixture op = MakeGather();
    op.AddInput(Tensor(DType::kU32, {5, 0}));
    op.AddInput(Tensor(dtype, {2}));
    op.AddOutput(Tensor(DType::kU32, {2, 0}));
    CHECK(op.Run(GatherAttributes{0}).ok());
  }
}

TEST_CASE("Gather: the first and the last index are in range") {
  OpFixture op = MakeGather();
  op.AddInput(NumberedTensor<uint32_t>(DType::kU32, {5}, Layout::kRowMajor));
  op.AddInput(Tensor::From(DType::kI32, {4}, std::vector<int32_t>{0, 4, -1, -5}));
  const Tensor y = op.AddOutput(Tensor(DType::kU32, {4}));
  REQUIRE(op.Run(GatherAttributes{0}).ok());
  CHECK(y.Values<uint32_t>() == std::vector<uint32_t>{1, 5, 5, 1});
}

TEST_CASE("Select: each element comes from x where the condition holds, else from y") {
  Generator random(3);
  const Dims out = {2, 3, 5, 31};
  const Dims shapes[] = {out, {31}, {3, 1, 1}, {}, {2, 1, 1, 31}, {1, 3, 5, 1}};
  const auto source = [&](const Dims& index, const Dims& dims) {
    Dims own(index.end() - static_cast<std::ptrdiff_t>(dims.size()), index.end());
    for (size_t k = 0; k < dims.size(); ++k) own[k] = dims[k] == 1 ? 0 : own[k];
    return Ravel(own, dims);
  };
  ForEachElementSize([&](auto word, DType dtype) {
    using T = decltype(word);
    for (int i = 0; i < 60; ++i) {
      // One operand has the output's shape, so that the others may broadcast.
      const int whole = Pick(random, 0, 2);
      const auto shape = [&](int k) { return k == whole ? out : shapes[Pick(random, 0, 5)]; };
      const Dims dims[3] = {shape(0), shape(1), shape(2)};
      Tensor condition(DType::kBool, dims[0], PickLayout(random));
      std::vector<uint8_t> flags(condition.count());
      for (uint8_t& flag : flags) flag = static_cast<uint8_t>(Pick(random, 0, 1));
      condition.Set(flags);
      Tensor y(dtype, dims[2], PickLayout(random));
      std::vector<T> others(y.count());
      for (size_t k = 0; k < others.size(); ++k) {
        others[k] = static_cast<T>(100 - Numbered<T>(static_cast<int64_t>(k)));
      }
      y.Set(others);
      OpFixture op(OpKind::kSelect);
      op.AddInput(condition);
      const Tensor x = op.AddInput(NumberedTensor<T>(dtype, dims[1], PickLayout(random)));
      op.AddInput(y);
      const Tensor z = op.AddOutput(Tensor(dtype, out, PickLayout(random)));
      REQUIRE(op.Run(NoAttributes{}, 2).ok());
      const std::vector<T> chosen = x.Values<T>();
      std::vector<T> expected(z.count());
      for (size_t k = 0; k < expected.size(); ++k) {
        const Dims index = Unravel(static_cast<int64_t>(k), out);
        const bool holds = flags[static_cast<size_t>(source(index, dims[0]))] != 0;
        expected[k] = holds ? chosen[static_cast<size_t>(source(index, dims[1]))]
                            : others[static_cast<size_t>(source(index, dims[2]))];
      }
      CHECK(z.Values<T>() == expected);
      CHECK(z.GapsIntact());
    }
  });
}

}  // namespace
}  // namespace tenon::cpu::testing

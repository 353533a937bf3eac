#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/movement_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

template <typename T>
void CheckCopy(DType dtype, const Dims& dims, Layout from, Layout to, int threads) {
  OpFixture op(OpKind::kCopy);
  op.AddInput(NumberedTensor<T>(dtype, dims, from));
  const Tensor y = op.AddOutput(Tensor(dtype, dims, to));
  REQUIRE(op.Run(NoAttributes{}, threads).ok());
  CHECK(y.Values<T>() ==
        ExpectedFrom<T>(dims, [&](const Dims& index) { return Ravel(index, dims); }));
  CHECK(y.GapsIntact());
}

TEST_CASE("Copy: every layout turns into every other, for every element size") {
  const int32_t side = RandomCases(20);
  const Dims shapes[] = {{1, 3, 37, 41}, {2, 16, 9, 7},  {1, 5, 1, 33}, {1, 64, side, side},
                         {2, 2, 30, 30}, {1, 4, 23, 29}, {1, 1, 6, 6},  {3, 37, 3, 1}};
  ForEachElementSize([&](auto word, DType dtype) {
    for (const Dims& dims : shapes) {
      for (Layout from : kAllLayouts) {
        for (Layout to : kAllLayouts) CheckCopy<decltype(word)>(dtype, dims, from, to, 1);
      }
    }
  });
}

TEST_CASE("Copy: large tensors are cut over threads without a trace") {
  for (Layout to : kAllLayouts) {
    CheckCopy<uint32_t>(DType::kU32, {1, 3, 160, 130}, Layout::kRowMajor, to, 3);
    CheckCopy<uint32_t>(DType::kU32, {2, 24, 40, 50}, Layout::kChannelsLast, to, 4);
    CheckCopy<uint8_t>(DType::kU8, {1, 40, 50, 60}, Layout::kRowMajorGaps, to, 2);
  }
}

TEST_CASE("Copy: random shapes of every rank") {
  Generator random(1);
  for (int i = 0; i < RandomCases(200); ++i) {
    const Dims dims = RandomDims(random, 0, kMaxRank, 4);
    CheckCopy<int16_t>(DType::kI16, dims, PickLayout(random), PickLayout(random), 1);
  }
}

TEST_CASE("Copy: a tensor without elements is left alone") {
  CheckCopy<uint32_t>(DType::kU32, {2, 0, 3, 4}, Layout::kChannelsLast, Layout::kRowMajor, 1);
}

TEST_CASE("Copy: a tensor onto itself changes nothing") {
  OpFixture op(OpKind::kCopy);
  const Dims dims = {1, 3, 5, 4};
  const Tensor x =
      op.AddInput(NumberedTensor<uint32_t>(DType::kU32, dims, Layout::kChannelsLastGaps));
  op.AddOutput(x);
  const std::vector<uint32_t> before = x.Values<uint32_t>();
  REQUIRE(op.Run(NoAttributes{}).ok());
  CHECK(x.Values<uint32_t>() == before);
}

TEST_CASE("Transpose: y's dimension k is x's dimension permutation[k]") {
  Generator random(2);
  for (int i = 0; i < RandomCases(300); ++i) {
    const Dims dims = RandomDims(random, 1, 6, i % 10 == 0 ? 40 : 5);
    if (CountOf(dims) > 200000) continue;
    TransposeAttributes attributes;
    attributes.rank = static_cast<int32_t>(dims.size());
    Dims order(dims.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int32_t>(k);
    std::shuffle(order.begin(), order.end(), random);
    Dims out(dims.size());
    for (size_t k = 0; k < order.size(); ++k) {
      attributes.permutation[k] = order[k];
      out[k] = dims[static_cast<size_t>(order[k])];
    }
    OpFixture op(OpKind::kTranspose);
    op.AddInput(NumberedTensor<uint32_t>(DType::kU32, dims, PickLayout(random)));
    const Tensor y = op.AddOutput(Tensor(DType::kU32, out, PickLayout(random)));
    REQUIRE(op.Run(attributes, 2).ok());
    const auto expected = ExpectedFrom<uint32_t>(out, [&](const Dims& index) {
      Dims source(dims.size());
      for (size_t k = 0; k < order.size(); ++k) source[static_cast<size_t>(order[k])] = index[k];
      return Ravel(source, dims);
    });
    CHECK(y.Values<uint32_t>() == expected);
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("Transpose: few channels of every pixel, as in shuffles of groups") {
  ForEachElementSize([](auto word, DType dtype) {
    using Word = decltype(word);
    for (int32_t groups = 1; groups <= 6; ++groups) {
      for (int32_t each = 1; each <= 21; ++each) {
        CAPTURE(groups);
        CAPTURE(each);
        const Dims dims = {5, 7, groups, each};
        const Dims out = {5, 7, each, groups};
        OpFixture op(OpKind::kTranspose);
        op.AddInput(NumberedTensor<Word>(dtype, dims, Layout::kRowMajor));
        const Tensor y = op.AddOutput(Tensor(dtype, out, Layout::kRowMajor));
        TransposeAttributes attributes;
        attributes.rank = 4;
        const int32_t order[] = {0, 1, 3, 2};
        std::copy(std::begin(order), std::end(order), attributes.permutation);
        REQUIRE(op.Run(attributes, 2).ok());
        CHECK(y.Values<Word>() == ExpectedFrom<Word>(out, [&](const Dims& index) {
                return Ravel({index[0], index[1], index[3], index[2]}, dims);
              }));
        CHECK(y.GapsIntact());
      }
    }
  });
}

TEST_CASE("Transpose: many short dimensions, as of a kernel's phases") {
  Generator random(7);
  ForEachElementSize([&](auto word, DType dtype) {
    using Word = decltype(word);
    for (int i = 0; i < RandomCases(40); ++i) {
      const Dims dims = {Pick(random, 9, 20), Pick(random, 1, 5), Pick(random, 1, 4),
                         Pick(random, 9, 20), Pick(random, 1, 4), Pick(random, 1, 4)};
      TransposeAttributes attributes;
      attributes.rank = 6;
      Dims order = {0, 1, 2, 3, 4, 5};
      std::shuffle(order.begin(), order.end(), random);
      Dims out;
      for (size_t k = 0; k < order.size(); ++k) {
        attributes.permutation[k] = order[k];
        out.push_back(dims[static_cast<size_t>(order[k])]);
      }
      OpFixture op(OpKind::kTranspose);
      op.AddInput(NumberedTensor<Word>(dtype, dims, PickLayout(random)));
      const Tensor y = op.AddOutput(Tensor(dtype, out, PickLayout(random)));
      REQUIRE(op.Run(attributes, 2).ok());
      CHECK(y.Values<Word>() == ExpectedFrom<Word>(out, [&](const Dims& index) {
              Dims source(dims.size());
              for (size_t k = 0; k < order.size(); ++k) {
                source[static_cast<size_t>(order[k])] = index[k];
              }
              return Ravel(source, dims);
            }));
      CHECK(y.GapsIntact());
    }
  });
}

TEST_CASE("Reshape: elements keep their row-major order under any strides") {
  const std::pair<Dims, Dims> shapes[] = {{{2, 3, 4, 5}, {2, 60}},
                                          {{2, 60}, {2, 3, 4, 5}},
                                          {{4, 6}, {6, 4}},
                                          {{24}, {2, 3, 4}},
                                          {{2, 3, 4}, {24}},
                                          {{1, 8, 3, 5}, {8, 15}},
                                          {{6, 35}, {2, 3, 1, 5, 7}},
                                          {{10, 21}, {15, 14}},
                                          {{1}, {}},
                                          {{}, {1, 1, 1}},
                                          {{1, 32, 9, 9}, {1, 2592}},
                                          {{8, 1, 1, 4}, {1, 4, 8, 1}},
                                          {{2, 0, 3}, {0, 5}},
                                          {{1, 6, 4, 4}, {1, 2, 3, 16}}};
  ForEachElementSize([&](auto word, DType dtype) {
    using T = decltype(word);
    for (const auto& [from, to] : shapes) {
      for (Layout from_layout : kAllLayouts) {
        for (Layout to_layout : kAllLayouts) {
          ReshapeAttributes attributes;
          attributes.rank = static_cast<int32_t>(to.size());
          std::copy(to.begin(), to.end(), attributes.dims);
          OpFixture op(OpKind::kReshape);
          const Tensor x = op.AddInput(NumberedTensor<T>(dtype, from, from_layout));
          const Tensor y = op.AddOutput(Tensor(dtype, to, to_layout));
          REQUIRE(op.Run(attributes).ok());
          CHECK(y.Values<T>() == x.Values<T>());
          CHECK(y.GapsIntact());
        }
      }
    }
  });
}

TEST_CASE("Expand: dimensions of 1 and missing ones repeat") {
  const std::pair<Dims, Dims> shapes[] = {
      {{1, 3, 1, 1}, {2, 3, 4, 5}}, {{3}, {2, 4, 3}}, {{}, {3, 4}},    {{2, 1}, {2, 300}},
      {{4, 1, 5}, {4, 6, 5}},       {{1}, {70000}},   {{2, 1}, {2, 0}}};
  ForEachElementSize([&](auto word, DType dtype) {
    using T = decltype(word);
    for (const auto& [from, to] : shapes) {
      for (Layout layout : kAllLayouts) {
        ExpandAttributes attributes;
        attributes.rank = static_cast<int32_t>(to.size());
        std::copy(to.begin(), to.end(), attributes.dims);
        OpFixture op(OpKind::kExpand);
        op.AddInput(NumberedTensor<T>(dtype, from, layout));
        const Tensor y = op.AddOutput(Tensor(dtype, to, layout));
        REQUIRE(op.Run(attributes, 2).ok());
        const Dims& source = from;
        CHECK(y.Values<T>() == ExpectedFrom<T>(to, [&](Dims index) {
                index.erase(index.begin(),
                            index.end() - static_cast<std::ptrdiff_t>(source.size()));
                for (size_t k = 0; k < source.size(); ++k) {
                  if (source[k] == 1) index[k] = 0;
                }
                return Ravel(index, source);
              }));
        CHECK(y.GapsIntact());
      }
    }
  });
}

TEST_CASE("Slice: a matrix of few columns is cut over threads, too") {
  const Dims dims = {20011, 16};
  const Dims out = {20011, 8};
  SliceAttributes attributes;
  attributes.rank = 2;
  attributes.begins[1] = 3;
  std::copy(out.begin(), out.end(), attributes.sizes);
  std::fill_n(attributes.steps, 2, 1);
  OpFixture op(OpKind::kSlice);
  op.AddInput(NumberedTensor<uint32_t>(DType::kU32, dims, Layout::kRowMajor));
  const Tensor y = op.AddOutput(Tensor(DType::kU32, out, Layout::kRowMajor));
  int tasks = 0;
  ParallelRunner runner;
  runner.threads = 2;
  runner.team = &tasks;
  runner.run = [](const ParallelRunner& self, int count, void (*body)(void*, int, int),
                  void* context) {
    *static_cast<int*>(self.team) = count;
    for (int i = count; i-- > 0;) body(context, i, i + 1);
  };
  op.set_runner(&runner);
  REQUIRE(op.Run(attributes, 2).ok());
  CHECK(tasks >= 8);
  CHECK(y.Values<uint32_t>() == ExpectedFrom<uint32_t>(out, [&](const Dims& index) {
          return Ravel({index[0], index[1] + 3}, dims);
        }));
  CHECK(y.GapsIntact());
}

TEST_CASE("Slice: begins, sizes and steps of either sign pick the elements") {
  Generator random(3);
  for (int i = 0; i < RandomCases(500); ++i) {
    const Dims dims = RandomDims(random, 1, 5, 9);
    SliceAttributes attributes;
    attributes.rank = static_cast<int32_t>(dims.size());
    Dims out(dims.size());
    for (size_t k = 0; k < dims.size(); ++k) {
      const int32_t step = Pick(random, 1, 3) * (Pick(random, 0, 1) == 0 ? 1 : -1);
      const int32_t begin = Pick(random, 0, dims[k] - 1);
      const int32_t most = (step > 0 ? dims[k] - 1 - begin : begin) / std::abs(step) + 1;
      attributes.begins[k] = begin;
      attributes.steps[k] = step;
      attributes.sizes[k] = out[k] = Pick(random, 1, most);
    }
    OpFixture op(OpKind::kSlice);
    op.AddInput(NumberedTensor<uint32_t>(DType::kU32, dims, PickLayout(random)));
    const Tensor y = op.AddOutput(Tensor(DType::kU32, out, PickLayout(random)));
    REQUIRE(op.Run(attributes).ok());
    CHECK(y.Values<uint32_t>() == ExpectedFrom<uint32_t>(out, [&](Dims index) {
            for (size_t k = 0; k < index.size(); ++k) {
              index[k] = attributes.begins[k] + index[k] * attributes.steps[k];
            }
            return Ravel(index, dims);
          }));
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("Concat: inputs follow each other along any axis, in any layouts") {
  Generator random(4);
  for (int i = 0; i < RandomCases(200); ++i) {
    Dims out = RandomDims(random, 1, 5, 4);
    const int axis = Pick(random, 0, static_cast<int32_t>(out.size()) - 1);
    const auto at = static_cast<size_t>(axis);
    OpFixture op(OpKind::kConcat);
    out[at] = Pick(random, 0, 9);
    const int count = Pick(random, 1, 4);
    // Cut the numbered whole into parts by hand, so that the reference is the whole itself.
    const Layout layout = PickLayout(random);
    const Tensor whole = NumberedTensor<int64_t>(DType::kI64, out, Layout::kRowMajor);
    int32_t first = 0;
    for (int part = 0; part < count; ++part) {
      Dims dims = out;
      dims[at] = part + 1 == count ? out[at] - first : Pick(random, 0, out[at] - first);
      Tensor tensor(DType::kI64, dims, PickLayout(random));
      tensor.Set(ExpectedFrom<int64_t>(dims, [&](Dims index) {
        index[at] += first;
        return Ravel(index, out);
      }));
      op.AddInput(tensor);
      first += dims[at];
    }
    const Tensor y = op.AddOutput(Tensor(DType::kI64, out, layout));
    REQUIRE(op.Run(ConcatAttributes{axis}).ok());
    CHECK(y.Values<int64_t>() == whole.Values<int64_t>());
    CHECK(y.GapsIntact());
  }
}

}  // namespace
}  // namespace tenon::cpu::testing

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "backends/cpu/kernels/portable/half.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/movement_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

OpFixture MakeOp() { return OpFixture(OpKind::kPad); }

/// One dimension by the definition: what negative amounts leave is cut out first, then padded.
std::vector<int32_t> SourcesOf(PadMode mode, int32_t dim, int32_t begin, int32_t end) {
  std::vector<int32_t> sources;
  for (int32_t i = std::max<int32_t>(0, -begin); i < dim - std::max<int32_t>(0, -end); ++i)
    sources.push_back(i);
  const std::vector<int32_t> kept = sources;
  for (int32_t i = 1; i <= begin; ++i) {
    sources.insert(sources.begin(), mode == PadMode::kConstant ? -1
                                    : mode == PadMode::kEdge   ? kept.front()
                                                               : kept[static_cast<size_t>(i)]);
  }
  for (int32_t i = 1; i <= end; ++i) {
    sources.push_back(mode == PadMode::kConstant ? -1
                      : mode == PadMode::kEdge   ? kept.back()
                                                 : kept[kept.size() - 1 - static_cast<size_t>(i)]);
  }
  return sources;
}

constexpr float kPadValue = 77.0F;

template <typename T>
void CheckPad(DType dtype, const PadAttributes& attributes, const Dims& dims, Generator& random,
              int threads) {
  std::vector<std::vector<int32_t>> sources;
  Dims out;
  for (size_t k = 0; k < dims.size(); ++k) {
    sources.push_back(
        SourcesOf(attributes.mode, dims[k], attributes.begins[k], attributes.ends[k]));
    out.push_back(static_cast<int32_t>(sources.back().size()));
  }
  OpFixture op = MakeOp();
  op.AddInput(NumberedTensor<T>(dtype, dims, PickLayout(random)));
  const Tensor y = op.AddOutput(Tensor(dtype, out, PickLayout(random)));
  REQUIRE(op.Run(attributes, threads).ok());
  CHECK(y.GapsIntact());
  std::vector<T> expected(y.count());
  for (size_t i = 0; i < expected.size(); ++i) {
    Dims index = Unravel(static_cast<int64_t>(i), out);
    bool inside = true;
    for (size_t k = 0; k < index.size(); ++k) {
      index[k] = sources[k][static_cast<size_t>(index[k])];
      inside = inside && index[k] >= 0;
    }
    expected[i] = inside ? Numbered<T>(Ravel(index, dims)) : static_cast<T>(kPadValue);
  }
  CHECK(y.Values<T>() == expected);
}

PadAttributes RandomPads(PadMode mode, const Dims& dims, Generator& random) {
  PadAttributes attributes;
  attributes.mode = mode;
  attributes.value = kPadValue;
  attributes.rank = static_cast<int32_t>(dims.size());
  for (size_t k = 0; k < dims.size(); ++k) {
    if (Pick(random, 0, 2) == 0) continue;  // often none: such dimensions merge
    int32_t begin = Pick(random, -2, 3);
    int32_t end = Pick(random, -2, 3);
    const int32_t kept = dims[k] - std::max<int32_t>(0, -begin) - std::max<int32_t>(0, -end);
    if (kept < 1 && mode != PadMode::kConstant) continue;
    if (kept < 0) continue;
    if (mode == PadMode::kReflect) {
      begin = std::min(begin, kept - 1);
      end = std::min(end, kept - 1);
    }
    attributes.begins[k] = begin;
    attributes.ends[k] = end;
  }
  return attributes;
}

TEST_CASE("Pad: every mode with amounts of either sign, for every element size") {
  Generator random(1);
  ForEachElementSize([&](auto word, DType dtype) {
    for (PadMode mode : {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect}) {
      for (int i = 0; i < 150; ++i) {
        const Dims dims = RandomDims(random, 0, 5, 6);
        CheckPad<decltype(word)>(dtype, RandomPads(mode, dims, random), dims, random, 1);
      }
    }
  });
}

TEST_CASE("Pad: large images are cut over threads without a trace") {
  Generator random(2);
  PadAttributes attributes;
  attributes.value = kPadValue;
  attributes.rank = 4;
  attributes.begins[2] = attributes.begins[3] = 1;
  attributes.ends[2] = attributes.ends[3] = 2;
  for (PadMode mode : {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect}) {
    attributes.mode = mode;
    CheckPad<uint32_t>(DType::kU32, attributes, {1, 12, 60, 61}, random, 3);
  }
}

TEST_CASE("Pad: many short rows, as of kernels") {
  Generator random(4);
  ForEachElementSize([&](auto word, DType dtype) {
    for (PadMode mode : {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect}) {
      for (int i = 0; i < RandomCases(30); ++i) {
        const Dims dims = {Pick(random, 4, 20), Pick(random, 4, 20), Pick(random, 1, 5),
                           Pick(random, 1, 5)};
        CheckPad<decltype(word)>(dtype, RandomPads(mode, dims, random), dims, random, 2);
      }
    }
  });
}

TEST_CASE("Pad: an empty input gives the constant everywhere") {
  PadAttributes attributes;
  attributes.value = kPadValue;
  attributes.rank = 2;
  attributes.begins[0] = 1;
  attributes.ends[0] = 2;
  Generator random(3);
  CheckPad<uint32_t>(DType::kU32, attributes, {0, 4}, random, 1);
}

TEST_CASE("Pad: the constant is converted to the dtype") {
  PadAttributes attributes;
  attributes.value = -std::numeric_limits<float>::infinity();
  attributes.rank = 1;
  attributes.ends[0] = 1;
  const auto last = [&](auto word, DType dtype) {
    using T = decltype(word);
    OpFixture op = MakeOp();
    op.AddInput(Tensor::From(dtype, {1}, std::vector<T>{T{}}));
    const Tensor y = op.AddOutput(Tensor(dtype, {2}));
    REQUIRE(op.Run(attributes).ok());
    return y.Values<T>()[1];
  };
  CHECK(last(float{}, DType::kF32) == attributes.value);
  CHECK(last(double{}, DType::kF64) == static_cast<double>(attributes.value));
  CHECK(portable::HalfToFloat(last(uint16_t{}, DType::kF16)) == attributes.value);
  CHECK(portable::Bfloat16ToFloat(last(uint16_t{}, DType::kBf16)) == attributes.value);
  attributes.value = -128.0F;
  CHECK(last(int8_t{}, DType::kI8) == -128);
  CHECK(last(int64_t{}, DType::kI64) == -128);
  attributes.value = 1.0F;
  CHECK(last(uint8_t{}, DType::kBool) == 1);
  attributes.value = 9223372036854775808.0F;
  CHECK(last(uint64_t{}, DType::kU64) == uint64_t{1} << 63U);
}

}  // namespace
}  // namespace tenon::cpu::testing

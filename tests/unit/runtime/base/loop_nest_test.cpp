#include "runtime/base/loop_nest.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

#include "runtime/base/round_up.hpp"

namespace tenon {
namespace {

/// A view without data.
struct View {
  View(std::initializer_list<int32_t> sizes, std::initializer_list<int32_t> steps) {
    for (const int32_t size : sizes) dims[view.rank++] = size;
    int i = 0;
    for (const int32_t step : steps) strides[i++] = step;
    view.dims = dims;
    view.strides = strides;
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  int32_t dims[kMaxRank] = {};
  int32_t strides[kMaxRank] = {};
  TensorView view;
};

TEST_CASE("LoopNest: dimensions in the output's order are merged where all operands allow it") {
  LoopNest<2> nest;  // an output in channels-last order, of an input that lies alike
  nest.Add(2, 60, 60);
  nest.Add(5, 1, 1);
  nest.Add(1, 7, 9);
  nest.Add(4, 15, 15);
  nest.Add(3, 5, 5);
  CHECK(nest.Elements() == 120);
  nest.Simplify();
  CHECK(nest.rank == 1);
  CHECK(nest.RowLength() == 120);
  CHECK(nest.RowStride(0) == 1);
  CHECK(nest.CrossingDimension() == -1);

  LoopNest<2> crossing;  // a transpose
  crossing.Add(20, 30, 1);
  crossing.Add(30, 1, 20);
  crossing.Simplify();
  CHECK(crossing.rank == 2);
  CHECK(crossing.CrossingDimension() == 0);
}

TEST_CASE("LoopNest: short rows give way to the longest dimension") {
  LoopNest<1> nest;
  nest.Add(50, 3);
  nest.Add(3, 1);
  nest.LengthenRows();
  CHECK(nest.RowLength() == 50);
  CHECK(nest.RowStride(0) == 3);

  LoopNest<1> equal;  // no gain: the inner one stays
  equal.Add(3, 5);
  equal.Add(3, 1);
  equal.LengthenRows();
  CHECK(equal.RowStride(0) == 1);
}

TEST_CASE("FindCommonLoops: pieces of dimensions that both shapes are made of") {
  const View x({4, 6}, {6, 1});
  const View y({24}, {1});
  LoopNest<2> whole;
  REQUIRE(FindCommonLoops(y.view, x.view, 4, whole));
  CHECK(whole.rank == 1);
  CHECK(whole.dims[0] == 24);
  CHECK(whole.strides[0][0] == 4);

  const View gaps({4, 6}, {8, 1});
  LoopNest<2> pieces;
  REQUIRE(FindCommonLoops(y.view, gaps.view, 1, pieces));
  REQUIRE(pieces.rank == 2);
  CHECK(pieces.dims[0] == 6);
  CHECK(pieces.dims[1] == 4);
  CHECK(pieces.strides[0][1] == 6);
  CHECK(pieces.strides[1][1] == 8);

  const View other({6, 4}, {5, 1});
  LoopNest<2> none;
  CHECK_FALSE(FindCommonLoops(other.view, gaps.view, 1, none));
}

TEST_CASE("BroadcastStride: 0 where a dimension is missing or of size 1") {
  const View view({1, 3}, {3, 1});
  CHECK(BroadcastStride(view.view, 3, 0) == 0);
  CHECK(BroadcastStride(view.view, 3, 1) == 0);
  CHECK(BroadcastStride(view.view, 3, 2) == 1);
}

TEST_CASE("RoundUp and CeilDiv are done in the type of the value") {
  static_assert(CeilDiv(0, 16) == 0 && CeilDiv(1, 16) == 1 && CeilDiv(17, 16) == 2);
  static_assert(RoundUp(size_t{17}, 16) == 32 && RoundUp(32, 16) == 32);
  static_assert(RoundUp<int64_t>(INT32_MAX, 64) == int64_t{1} << 31);
  CHECK(RoundUp(33, 32) == 64);
}

}  // namespace
}  // namespace tenon

// Updates written, or joined with what is there, at places: windows, slices and segments.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/unit/converter/import/tflite/run_steps.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions2;
using format::TensorType;
using Dims = std::vector<int32_t>;
using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;

/// DYNAMIC_UPDATE_SLICE of x [3, 4] counted from 0.
Floats Updated(const Dims& update, const Floats& values, const std::vector<int32_t>& starts) {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {3, 4});
  const int32_t u = model.Input("u", kF32, update);
  const int32_t s = model.Input("s", kI32, {2});
  const int32_t y = model.Output("y", kF32, {3, 4});
  model.Node(Op::DYNAMIC_UPDATE_SLICE, {x, u, s}, {y});
  return RunStep(
      model,
      {{"x", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}, {"u", values}, {"s", Bits(starts)}})["y"];
}

TEST_CASE("TFLite lowering: DYNAMIC_UPDATE_SLICE writes over the part that begins at its starts") {
  CHECK(Updated({2, 2}, {-1, -2, -3, -4}, {1, 2}) ==
        Floats{0, 1, 2, 3, 4, 5, -1, -2, 8, 9, -3, -4});
  CHECK(Updated({1, 4}, {-1, -2, -3, -4}, {1, 0}) ==
        Floats{0, 1, 2, 3, -1, -2, -3, -4, 8, 9, 10, 11});
}

TEST_CASE("TFLite lowering: DYNAMIC_UPDATE_SLICE moves a part that would lie outside") {
  CHECK(Updated({2, 2}, {-1, -2, -3, -4}, {9, -5}) ==
        Floats{0, 1, 2, 3, -1, -2, 6, 7, -3, -4, 10, 11});
  CHECK(Updated({3, 4}, Floats(12, 7.0F), {1, 1}) == Floats(12, 7.0F));
}

/// The rows of x [4, 2] joined by segments.
Floats Joined(Op op, const std::vector<int32_t>& ids, int32_t segments) {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {4, 2});
  const int32_t numbers = model.Ints("ids", {4}, ids);
  const int32_t count = model.Ints("count", {}, {segments});
  const int32_t y = model.Output("y", kF32, {segments, 2});
  std::vector<int32_t> operands = {x, numbers};
  if (op != Op::SEGMENT_SUM) operands.push_back(count);
  model.Node(op, operands, {y});
  return RunStep(model, {{"x", {1, 2, 3, 4, 5, 6, 7, 8}}})["y"];
}

TEST_CASE("TFLite lowering: segments are joined by their numbers, negative ones left out") {
  CHECK(Joined(Op::SEGMENT_SUM, {0, 0, 1, 1}, 2) == Floats{4, 6, 12, 14});
  CHECK(Joined(Op::UNSORTED_SEGMENT_SUM, {2, -1, 0, 2}, 3) == Floats{5, 6, 0, 0, 8, 10});
  CHECK(Joined(Op::UNSORTED_SEGMENT_PROD, {1, 1, 0, 1}, 2) == Floats{5, 6, 21, 64});
  CHECK(Joined(Op::UNSORTED_SEGMENT_MAX, {0, 0, 0, -1}, 1) == Floats{5, 6});
  CHECK(Joined(Op::UNSORTED_SEGMENT_MIN, {1, 0, 1, 0}, 2) == Floats{3, 4, 1, 2});
}

/// A scatter into x [3, 4] of updates at run-time indices; `body`: none replaces.
struct Scatter {
  Dims indices;
  Dims updates;
  Longs window;
  Longs inserted;
  Longs index_of;
  int64_t index_axis;
  bool adds = false;
};

TfliteBuilder Scattering(const Scatter& scatter) {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {3, 4});
  const int32_t indices = model.Input("i", kI32, scatter.indices);
  const int32_t updates = model.Input("u", kF32, scatter.updates);
  const int32_t y = model.Output("y", kF32, {3, 4});
  const int32_t a = model.Value("a", kF32, {});
  const int32_t b = model.Value("b", kF32, {});
  const int32_t c = model.Value("c", kF32, {});
  const int32_t body = model.Graph({a, b}, {scatter.adds ? c : b}, [&] {
    if (scatter.adds) model.Node(Op::ADD, {a, b}, {c});
  });
  const auto options = format::CreateStablehloScatterOptionsDirect(
      model.flat, false, &scatter.window, &scatter.inserted, &scatter.index_of, scatter.index_axis,
      false, body);
  model.StableNode(Op::STABLEHLO_SCATTER, {x, indices, updates}, {y},
                   BuiltinOptions2::StablehloScatterOptions, options.Union());
  return model;
}

const Floats kCounted = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

TEST_CASE("TFLite lowering: STABLEHLO_SCATTER writes rows at places along a dimension") {
  TfliteBuilder model = Scattering({{2, 1}, {2, 4}, {1}, {0}, {0}, 1});
  CHECK(RunStep(model, {{"x", kCounted}, {"i", Bits({2, 0})}, {"u", Floats(8, -1.0F)}})["y"] ==
        Floats{-1, -1, -1, -1, 4, 5, 6, 7, -1, -1, -1, -1});
}

TEST_CASE("TFLite lowering: STABLEHLO_SCATTER adds elements and windows at pairs of indices") {
  TfliteBuilder elements = Scattering({{2, 3}, {3}, {}, {0, 1}, {1, 0}, 0, true});
  CHECK(RunStep(elements, {{"x", kCounted},
                           {"i", Bits({3, 0, 3, 1, 2, 1})},  // columns, then rows
                           {"u", {100, 200, 300}}})["y"] ==
        Floats{0, 1, 2, 3, 4, 5, 6, 407, 208, 9, 10, 11});
  TfliteBuilder windows = Scattering({{2}, {2, 2}, {0, 1}, {}, {0, 1}, 0});
  CHECK(RunStep(windows, {{"x", kCounted}, {"i", Bits({1, 2})}, {"u", {-1, -2, -3, -4}}})["y"] ==
        Floats{0, 1, 2, 3, 4, 5, -1, -2, 8, 9, -3, -4});
}

TEST_CASE("TFLite lowering: STABLEHLO_SCATTER reports a window that does not lie inside") {
  TfliteBuilder model = Scattering({{2}, {2, 2}, {0, 1}, {}, {0, 1}, 0});
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE_MESSAGE(graph.ok(), TextOf(graph));
  Values values;
  values[graph->FindPort(false, "x")->tensor].resize(12 * sizeof(float));
  values[graph->FindPort(false, "u")->tensor].resize(4 * sizeof(float));
  const std::vector<int32_t> corner = {0, 3};  // the second column would be in the next row
  auto& bytes = values[graph->FindPort(false, "i")->tensor];
  bytes.resize(corner.size() * sizeof(int32_t));
  std::memcpy(bytes.data(), corner.data(), bytes.size());
  CHECK_FALSE(Evaluate(*graph, {graph->outputs().at(0).tensor}, values).ok());
}

TEST_CASE("TFLite lowering: STABLEHLO_SCATTER wants dimension numbers that fit") {
  const std::string text = Scattering({{2, 1}, {2, 4}, {1}, {0}, {0, 1}, 1}).Text();
  CHECK(text ==
        "error: node 'y' (STABLEHLO_SCATTER): its dimension numbers do not fit its operands");
}

}  // namespace
}  // namespace tenon::converter::test

// Operators of StableHLO that run a graph of the model: composites, and orders.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/tflite/run_steps.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions2;
using format::ComparisonDirection;
using format::TensorType;
using Dims = std::vector<int32_t>;
using Floats = std::vector<float>;

TEST_CASE("TFLite lowering: a composite is the graph that it stands for") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {2});
  const int32_t y = model.Output("y", kF32, {2});
  const int32_t a = model.Value("a", kF32, {2});
  const int32_t b = model.Value("b", kF32, {2});
  const int32_t body = model.Graph({a}, {b}, [&] { model.Node(Op::MUL, {a, a}, {b}); });
  model.StableNode(
      Op::STABLEHLO_COMPOSITE, {x}, {y}, BuiltinOptions2::StableHLOCompositeOptions,
      format::CreateStableHLOCompositeOptionsDirect(model.flat, "odml.square", body).Union());
  CHECK(RunStep(model, {{"x", {3, -4}}})["y"] == Floats{9, 16});
}

TEST_CASE("TFLite lowering: a composite of a graph that is not there is malformed") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {2});
  const int32_t y = model.Output("y", kF32, {2});
  model.StableNode(Op::STABLEHLO_COMPOSITE, {x}, {y}, BuiltinOptions2::StableHLOCompositeOptions,
                   format::CreateStableHLOCompositeOptionsDirect(model.flat, "", 7).Union());
  CHECK(model.Text() == "error: malformed: STABLEHLO_COMPOSITE names graph 7 of 1");
}

/// Sorts x [2, 3] along `axis`, and v with it, by a comparator of the parameters numbered.
TfliteBuilder Sorting(int64_t axis, ComparisonDirection direction, size_t left, size_t right) {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {2, 3});
  const int32_t v = model.Input("v", kF32, {2, 3});
  const int32_t y = model.Output("y", kF32, {2, 3});
  const int32_t w = model.Output("w", kF32, {2, 3});
  Dims ports;
  for (const char* name : {"a", "b", "c", "d"}) ports.push_back(model.Value(name, kF32, {}));
  const int32_t less = model.Value("less", TensorType::BOOL, {});
  const int32_t body = model.Graph(ports, {less}, [&] {
    model.StableNode(Op::STABLEHLO_COMPARE, {ports[left], ports[right]}, {less},
                     BuiltinOptions2::StablehloCompareOptions,
                     format::CreateStablehloCompareOptions(model.flat, direction).Union());
  });
  model.StableNode(Op::STABLEHLO_SORT, {x, v}, {y, w}, BuiltinOptions2::StablehloSortOptions,
                   format::CreateStablehloSortOptions(model.flat, axis, true, body).Union());
  return model;
}

TEST_CASE("TFLite lowering: STABLEHLO_SORT orders all operands by one, equal ones as they were") {
  const PortValues inputs = {{"x", {2, 1, 2, 0, 5, 4}}, {"v", {0, 1, 2, 3, 4, 5}}};
  TfliteBuilder rising = Sorting(1, ComparisonDirection::LT, 0, 1);
  PortValues found = RunStep(rising, inputs);
  CHECK(found["y"] == Floats{1, 2, 2, 0, 4, 5});
  CHECK(found["w"] == Floats{1, 0, 2, 3, 5, 4});
  TfliteBuilder falling = Sorting(1, ComparisonDirection::GT, 0, 1);
  found = RunStep(falling, inputs);
  CHECK(found["y"] == Floats{2, 2, 1, 5, 4, 0});
  CHECK(found["w"] == Floats{0, 2, 1, 4, 5, 3});
  TfliteBuilder columns = Sorting(0, ComparisonDirection::LT, 0, 1);
  CHECK(RunStep(columns, inputs)["y"] == Floats{0, 1, 2, 2, 5, 4});
}

TEST_CASE("TFLite lowering: STABLEHLO_SORT reads which operand decides, and in which order") {
  const PortValues inputs = {{"x", {2, 1, 2, 0, 5, 4}}, {"v", {5, 4, 3, 2, 1, 0}}};
  TfliteBuilder by_second = Sorting(1, ComparisonDirection::LT, 2, 3);
  CHECK(RunStep(by_second, inputs)["y"] == Floats{2, 1, 2, 4, 5, 0});
  TfliteBuilder swapped = Sorting(1, ComparisonDirection::LT, 1, 0);
  CHECK(RunStep(swapped, inputs)["y"] == Floats{2, 2, 1, 5, 4, 0});
  const std::string text = Sorting(1, ComparisonDirection::LT, 0, 3).Text();
  CHECK(text ==
        "error: node 'y' (STABLEHLO_SORT): its comparator is not one comparison of two elements");
}

TEST_CASE("TFLite lowering: STABLEHLO_COMPARE has six directions") {
  const std::pair<ComparisonDirection, std::vector<uint8_t>> cases[] = {
      {ComparisonDirection::EQ, {0, 1, 0}}, {ComparisonDirection::NE, {1, 0, 1}},
      {ComparisonDirection::GE, {0, 1, 1}}, {ComparisonDirection::GT, {0, 0, 1}},
      {ComparisonDirection::LE, {1, 1, 0}}, {ComparisonDirection::LT, {1, 0, 0}}};
  for (const auto& [direction, expected] : cases) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kF32, {3});
    const int32_t one = model.Floats("one", {3}, {1, 1, 1});
    const int32_t z = model.Value("z", TensorType::BOOL, {3});
    const int32_t y = model.Output("y", kF32, {3});
    model.StableNode(Op::STABLEHLO_COMPARE, {x, one}, {z}, BuiltinOptions2::StablehloCompareOptions,
                     format::CreateStablehloCompareOptions(model.flat, direction).Union());
    model.Node(Op::CAST, {z}, {y});
    CHECK(RunStep(model, {{"x", {0, 1, 2}}})["y"] == Floats(expected.begin(), expected.end()));
  }
}

}  // namespace
}  // namespace tenon::converter::test

// Operators whose kernels in TFLite do not look at scales, and functions of integers at the edges.
#include <doctest/doctest.h>

#include <cstring>

#include "converter/ir/elements.hpp"
#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions;
using format::TensorType;
using Bytes = std::vector<int8_t>;

/// The bytes of the only output for those of the inputs.
std::vector<std::byte> RunModel(TfliteBuilder& model, const std::vector<Bytes>& inputs) {
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE_MESSAGE(graph.ok(), TextOf(graph));
  Values values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto& bytes = values[graph->inputs().at(i).tensor];
    bytes.resize(inputs[i].size());
    std::memcpy(bytes.data(), inputs[i].data(), bytes.size());
  }
  const TensorId wanted = graph->outputs().at(0).tensor;
  const Status status = Evaluate(*graph, {wanted}, values);
  REQUIRE_MESSAGE(status.ok(), status.error().message);
  return values.at(wanted);
}

Bytes RunBytes(TfliteBuilder& model, const std::vector<Bytes>& inputs) {
  const std::vector<std::byte> bytes = RunModel(model, inputs);
  Bytes found(bytes.size());
  std::memcpy(found.data(), bytes.data(), bytes.size());
  return found;
}

/// An operator of one or two inputs, each of its own scale and zero point.
Bytes Elementwise(Op op, const std::vector<Bytes>& inputs) {
  TfliteBuilder model;
  const auto count = static_cast<int32_t>(inputs[0].size());
  std::vector<int32_t> operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    operands.push_back(
        model.Input("x" + std::to_string(i), kI8, {count}, {{0.5F + float(i)}, {3}}));
  }
  model.Node(op, operands, {model.Output("y", kI8, {count}, {{0.25F}, {-7}})});
  return RunBytes(model, inputs);
}

TEST_CASE("TFLite integers: CAST gives the integers themselves") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kI8, {4}, {{0.5F}, {3}});
  model.Node(Op::CAST, {x}, {model.Output("y", kF32, {4})});
  const std::vector<std::byte> bytes = RunModel(model, {{-128, 0, 3, 127}});
  std::vector<float> found(4);
  REQUIRE(bytes.size() == 4 * sizeof(float));
  std::memcpy(found.data(), bytes.data(), bytes.size());
  CHECK(found == std::vector<float>{-128, 0, 3, 127});
}

TEST_CASE("TFLite integers: NEG, FLOOR_DIV and FLOOR_MOD compute with the integers themselves") {
  CHECK(Elementwise(Op::NEG, {{-128, -1, 0, 5, 127}}) == Bytes{-128, 1, 0, -5, -127});
  CHECK(Elementwise(Op::FLOOR_DIV, {{7, -7, 7, -128}, {2, 2, -2, 3}}) == Bytes{3, -4, -4, -43});
  CHECK(Elementwise(Op::FLOOR_MOD, {{7, -7, 7, -128}, {3, 3, -3, 5}}) == Bytes{1, 2, -2, 2});
}

TEST_CASE("TFLite integers: of 16 bits they are computed with in 32") {
  for (const Op op : {Op::FLOOR_DIV, Op::FLOOR_MOD}) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", TensorType::INT16, {2}, {{0.5F}, {0}});
    const int32_t z = model.Input("z", TensorType::INT16, {2}, {{0.5F}, {0}});
    model.Node(op, {x, z}, {model.Output("y", TensorType::INT16, {2}, {{0.5F}, {0}})});
    // -257 and 300 by 3 and -7
    const Bytes found = RunBytes(model, {{-1, -2, 44, 1}, {3, 0, -7, -1}});
    CHECK(found == (op == Op::FLOOR_DIV ? Bytes{-86, -1, -43, -1} : Bytes{1, 0, -1, -1}));
  }
}

TEST_CASE("TFLite integers: what MATRIX_DIAG and SCATTER_ND fill up with is 0 itself") {
  TfliteBuilder diagonal;
  const int32_t x = diagonal.Input("x", kI8, {2}, {{0.5F}, {3}});
  diagonal.Node(Op::MATRIX_DIAG, {x}, {diagonal.Output("y", kI8, {2, 2}, {{0.5F}, {3}})});
  CHECK(RunBytes(diagonal, {{5, -6}}) == Bytes{5, 0, 0, -6});

  TfliteBuilder scatter;
  const int32_t indices = scatter.Ints("indices", {3, 1}, {2, 0, 2});
  const int32_t updates = scatter.Input("x", kI8, {3}, {{0.5F}, {3}});
  const int32_t shape = scatter.Ints("shape", {1}, {4});
  scatter.Node(Op::SCATTER_ND, {indices, updates, shape},
               {scatter.Output("y", kI8, {4}, {{0.5F}, {3}})});
  CHECK(RunBytes(scatter, {{100, -6, 100}}) == Bytes{-6, 0, -56, 0});
}

TEST_CASE("TFLite integers: what only moves or joins numbers keeps their bits") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::INT16, {1}, {{0.5F}, {0}});
  const int32_t z = model.Input("z", TensorType::INT16, {1}, {{0.25F}, {0}});
  const int32_t y = model.Output("y", TensorType::INT16, {2}, {{4.0F}, {0}});
  model.Node(Op::CONCATENATION, {x, z}, {y}, BuiltinOptions::ConcatenationOptions,
             format::CreateConcatenationOptions(model.flat, 0).Union());
  CHECK(RunBytes(model, {{1, 2}, {3, 4}}) == Bytes{1, 2, 3, 4});
}

TEST_CASE("TFLite integers: pools of 16 bits take them as they are, too") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::INT16, {1, 1, 2, 1}, {{0.5F}, {0}});
  const int32_t y = model.Output("y", TensorType::INT16, {1, 1, 1, 1}, {{4.0F}, {0}});
  model.Node(Op::MAX_POOL_2D, {x}, {y}, BuiltinOptions::Pool2DOptions,
             format::CreatePool2DOptions(model.flat, format::Padding::VALID, 1, 1, 2, 1).Union());
  CHECK(RunBytes(model, {{1, 2, 3, 4}}) == Bytes{3, 4});
}

TEST_CASE("TFLite integers: the logarithm of what has none is the least integer") {
  CHECK(Elementwise(Op::LOG, {{-128, 2, 3}}) == Bytes{-128, -128, -128});
}

TEST_CASE("TFLite integers: ABS rounds twice, as its kernel does") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kI8, {2}, {{0.0307100005F}, {0}});
  model.Node(Op::ABS, {x}, {model.Output("y", kI8, {2}, {{0.5F}, {-128}})});
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE_MESSAGE(graph.ok(), TextOf(graph));
  const converter::Op made = graph->op(graph->OpOrder()[0]);
  const std::vector<double> table = ReadElements(graph->tensor(made.inputs[1]));
  REQUIRE(table.size() == 256);
  CHECK(table[128 + 8] == -127);  // 0.49136, which rounded once is 0
  CHECK(table[128 + 7] == -128);
  CHECK(table[128 - 8] == -127);
}

}  // namespace
}  // namespace tenon::converter::test

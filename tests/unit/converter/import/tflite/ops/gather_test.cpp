// Elements at places that are counted anew in each element of a batch.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/unit/converter/import/tflite/run_steps.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions;
using format::TensorType;
using Floats = std::vector<float>;

/// GATHER of x [2, 3, 2] along axis 1 with one batch dimension.
TfliteBuilder BatchGather(int32_t batch_dims) {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {2, 3, 2});
  const int32_t places = model.Input("places", kI32, {2, 2});
  const int32_t y = model.Output("y", kF32, {2, 2, 2});
  model.Node(Op::GATHER, {x, places}, {y}, BuiltinOptions::GatherOptions,
             format::CreateGatherOptions(model.flat, 1, batch_dims).Union());
  return model;
}

TEST_CASE("TFLite lowering: GATHER counts its indices in each element of a batch") {
  const Floats x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  for (const int32_t batch_dims : {1, -1}) {
    TfliteBuilder model = BatchGather(batch_dims);
    CHECK(RunStep(model, {{"x", x}, {"places", Bits({2, 0, 1, 1})}})["y"] ==
          Floats{4, 5, 0, 1, 8, 9, 8, 9});
  }
}

TEST_CASE("TFLite lowering: GATHER reports an index that lies in another element of the batch") {
  TfliteBuilder model = BatchGather(1);
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE_MESSAGE(graph.ok(), TextOf(graph));
  Values values;
  values[graph->FindPort(false, "x")->tensor].resize(12 * sizeof(float));
  const std::vector<int32_t> places = {0, 3, 0, 0};
  auto& bytes = values[graph->FindPort(false, "places")->tensor];
  bytes.resize(places.size() * sizeof(int32_t));
  std::memcpy(bytes.data(), places.data(), bytes.size());
  CHECK_FALSE(Evaluate(*graph, {graph->outputs().at(0).tensor}, values).ok());
}

TEST_CASE("TFLite lowering: GATHER_ND reports a number that would be the place of another slice") {
  for (const auto& [tuple, is_inside] : std::vector<std::pair<std::vector<int32_t>, bool>>{
           {{2, 1}, true}, {{0, 2}, false}, {{1, -1}, false}, {{-1, 0}, false}, {{3, 0}, false}}) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kF32, {3, 2});
    const int32_t tuples = model.Input("tuples", kI32, {1, 2});
    model.Node(Op::GATHER_ND, {x, tuples}, {model.Output("y", kF32, {1})});
    const Result<Graph> graph = ImportBytes(model.File());
    REQUIRE_MESSAGE(graph.ok(), TextOf(graph));
    Values values;
    values[graph->FindPort(false, "x")->tensor].resize(6 * sizeof(float));
    auto& bytes = values[graph->FindPort(false, "tuples")->tensor];
    bytes.resize(tuple.size() * sizeof(int32_t));
    std::memcpy(bytes.data(), tuple.data(), bytes.size());
    CHECK(Evaluate(*graph, {graph->outputs().at(0).tensor}, values).ok() == is_inside);
  }
}

TEST_CASE("TFLite lowering: REVERSE_SEQUENCE turns the beginning of each sequence") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {4, 2});
  const int32_t lengths = model.Input("lengths", kI32, {2});
  const int32_t y = model.Output("y", kF32, {4, 2});
  model.Node(Op::REVERSE_SEQUENCE, {x, lengths}, {y}, BuiltinOptions::ReverseSequenceOptions,
             format::CreateReverseSequenceOptions(model.flat, 0, 1).Union());
  CHECK(RunStep(model, {{"x", {0, 1, 2, 3, 4, 5, 6, 7}}, {"lengths", Bits({3, 0})}})["y"] ==
        Floats{4, 1, 2, 3, 0, 5, 6, 7});
}

}  // namespace
}  // namespace tenon::converter::test

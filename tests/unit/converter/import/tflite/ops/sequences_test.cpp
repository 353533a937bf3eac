// Elements at places that are counted anew in each element of a batch, segments and diagonals.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "tests/unit/converter/import/tflite/run_steps.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions;
using format::TensorType;
using Dims = std::vector<int32_t>;
using Floats = std::vector<float>;

constexpr TensorType kF32 = TensorType::FLOAT32;
constexpr TensorType kI32 = TensorType::INT32;

std::vector<int32_t> Whole(const Floats& bits) {
  std::vector<int32_t> values(bits.size());
  std::memcpy(values.data(), bits.data(), bits.size() * sizeof(int32_t));
  return values;
}

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

TEST_CASE("TFLite lowering: BUCKETIZE counts the boundaries that are not above") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {5});
  const int32_t y = model.Output("y", kI32, {5});
  const Floats boundaries = {-1, 0, 2};
  model.Node(Op::BUCKETIZE, {x}, {y}, BuiltinOptions::BucketizeOptions,
             format::CreateBucketizeOptionsDirect(model.flat, &boundaries).Union());
  CHECK(Whole(RunStep(model, {{"x", {-2, -1, 0.5F, 2, NAN}}})["y"]) ==
        std::vector<int32_t>{0, 1, 2, 3, 3});
}

TEST_CASE("TFLite lowering: MATRIX_DIAG and MATRIX_SET_DIAG put vectors on diagonals") {
  TfliteBuilder made;
  const int32_t d = made.Input("d", kF32, {2, 2});
  made.Node(Op::MATRIX_DIAG, {d}, {made.Output("y", kF32, {2, 2, 2})});
  CHECK(RunStep(made, {{"d", {1, 2, 3, 4}}})["y"] == Floats{1, 0, 0, 2, 3, 0, 0, 4});
  for (const bool tall : {false, true}) {
    TfliteBuilder set;
    const Dims dims = tall ? Dims{3, 2} : Dims{2, 3};
    const int32_t x = set.Input("x", kF32, dims);
    const int32_t diagonal = set.Input("d", kF32, {2});
    set.Node(Op::MATRIX_SET_DIAG, {x, diagonal}, {set.Output("y", kF32, dims)});
    const Floats expected = tall ? Floats{8, 2, 3, 9, 5, 6} : Floats{8, 2, 3, 4, 9, 6};
    CHECK(RunStep(set, {{"x", {1, 2, 3, 4, 5, 6}}, {"d", {8, 9}}})["y"] == expected);
  }
}

TEST_CASE("TFLite lowering: ATAN2 gives the angle of each quadrant, and 0 at the origin") {
  TfliteBuilder model;
  const int32_t y = model.Input("y", kF32, {9});
  const int32_t x = model.Input("x", kF32, {9});
  model.Node(Op::ATAN2, {y, x}, {model.Output("z", kF32, {9})});
  const Floats ys = {0, 1, 1, 1, 0, -1, -1, -1, 0};
  const Floats xs = {1, 1, 0, -1, -1, -1, 0, 1, 0};
  const Floats z = RunStep(model, {{"x", xs}, {"y", ys}})["z"];
  for (size_t i = 0; i < z.size(); ++i) {
    CHECK(z[i] == doctest::Approx(std::atan2(ys[i], xs[i])).epsilon(1e-6));
  }
}

}  // namespace
}  // namespace tenon::converter::test

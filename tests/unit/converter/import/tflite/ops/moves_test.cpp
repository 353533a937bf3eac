// What operators that choose, reverse, sum up and spread elements compute.
#include <doctest/doctest.h>

#include <cstring>
#include <numeric>

#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/tflite/ops/numbers.hpp"
#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions;
using format::TensorType;
using Floats = std::vector<float>;

template <typename T>
std::vector<T> ElementsOf(const std::vector<std::byte>& bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

/// The bytes of each output for the values of the only input.
std::vector<std::vector<std::byte>> ComputedMoves(TfliteBuilder& model, const Floats& x) {
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  Values values;
  auto& input = values[graph->inputs().at(0).tensor];
  input.resize(x.size() * sizeof(float));
  std::memcpy(input.data(), x.data(), input.size());
  std::vector<TensorId> wanted;
  for (const auto& port : graph->outputs()) wanted.push_back(port.tensor);
  const Status status = Evaluate(*graph, wanted, values);
  REQUIRE_MESSAGE(status.ok(), status.error().message);
  std::vector<std::vector<std::byte>> outputs;
  for (const TensorId id : wanted) outputs.push_back(values.at(id));
  return outputs;
}

TEST_CASE("TFLite lowering: ARG_MAX and ARG_MIN take the first of equal elements") {
  for (const Op op : {Op::ARG_MAX, Op::ARG_MIN}) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kF32, {2, 3});
    const int32_t axis = model.Ints("axis", {}, {-1});
    const int32_t y = model.Output("y", kI32, {2});
    model.Node(op, {x, axis}, {y});
    const auto outputs = ComputedMoves(model, {5, 7, 7, 2, 2, 9});
    const std::vector<int32_t> expected =
        op == Op::ARG_MAX ? std::vector<int32_t>{1, 2} : std::vector<int32_t>{0, 0};
    CHECK(ElementsOf<int32_t>(outputs[0]) == expected);
  }
}

TEST_CASE("TFLite lowering: TOPK_V2 gives values and places of each row") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {2, 4});
  const int32_t count = model.Ints("count", {}, {2});
  const int32_t values = model.Output("values", kF32, {2, 2});
  const int32_t places = model.Output("places", kI32, {2, 2});
  model.Node(Op::TOPK_V2, {x, count}, {values, places});
  const auto outputs = ComputedMoves(model, {1, 4, 3, 2, 8, 5, 6, 7});
  CHECK(ElementsOf<float>(outputs[0]) == Floats{4, 3, 8, 7});
  CHECK(ElementsOf<int32_t>(outputs[1]) == std::vector<int32_t>{1, 2, 0, 3});
}

TEST_CASE(
    "TFLite lowering: ONE_HOT marks the place of an index, and nothing for one out of range") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {3});
  const int32_t indices = model.Value("indices", kI32, {3});
  model.Node(Op::CAST, {x}, {indices});
  const int32_t depth = model.Ints("depth", {}, {2});
  const int32_t on = model.Floats("on", {}, {5});
  const int32_t off = model.Floats("off", {}, {-1});
  const int32_t y = model.Output("y", kF32, {3, 2});
  model.Node(Op::ONE_HOT, {indices, depth, on, off}, {y}, BuiltinOptions::OneHotOptions,
             format::CreateOneHotOptions(model.flat, -1).Union());
  CHECK(ElementsOf<float>(ComputedMoves(model, {1, 0, 4})[0]) == Floats{-1, 5, 5, -1, -1, -1});
}

TEST_CASE("TFLite lowering: REVERSE_V2 turns the axes around that it names") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {2, 3});
  const int32_t axes = model.Ints("axes", {1}, {1});
  const int32_t y = model.Output("y", kF32, {2, 3});
  model.Node(Op::REVERSE_V2, {x, axes}, {y});
  CHECK(ElementsOf<float>(ComputedMoves(model, Counted(6))[0]) == Floats{3, 2, 1, 6, 5, 4});
}

TEST_CASE("TFLite lowering: CUMSUM can leave out the element itself and run from the end") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {2, 3});
  const int32_t axis = model.Ints("axis", {}, {1});
  const int32_t y = model.Output("y", kF32, {2, 3});
  model.Node(Op::CUMSUM, {x, axis}, {y}, BuiltinOptions::CumsumOptions,
             format::CreateCumsumOptions(model.flat, true, true).Union());
  CHECK(ElementsOf<float>(ComputedMoves(model, Counted(6))[0]) == Floats{5, 3, 0, 11, 6, 0});
}

TEST_CASE("TFLite lowering: GATHER_ND takes elements and slices by tuples of numbers") {
  const auto gathered = [](const std::vector<int32_t>& dims, const std::vector<int32_t>& tuples,
                           const std::vector<int32_t>& result) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kF32, {2, 2, 3});
    const int32_t indices = model.Ints("indices", dims, tuples);
    const int32_t y = model.Output("y", kF32, result);
    model.Node(Op::GATHER_ND, {x, indices}, {y});
    return ElementsOf<float>(ComputedMoves(model, Counted(12))[0]);
  };
  CHECK(gathered({2, 3}, {1, 0, 2, 0, 1, 1}, {2}) == Floats{9, 5});
  CHECK(gathered({1, 2, 2}, {1, 1, 0, 0}, {1, 2, 3}) == Floats{10, 11, 12, 1, 2, 3});
}

TEST_CASE("TFLite lowering: SCATTER_ND adds up updates of one place") {
  TfliteBuilder model;
  const int32_t indices = model.Ints("indices", {3, 1}, {2, 0, 2});
  const int32_t x = model.Input("x", kF32, {3, 2});
  const int32_t shape = model.Ints("shape", {2}, {4, 2});
  const int32_t y = model.Output("y", kF32, {4, 2});
  model.Node(Op::SCATTER_ND, {indices, x, shape}, {y});
  CHECK(ElementsOf<float>(ComputedMoves(model, Counted(6))[0]) == Floats{3, 4, 0, 0, 6, 8, 0, 0});
}

TEST_CASE("TFLite lowering: EMBEDDING_LOOKUP takes rows of a table") {
  TfliteBuilder model;
  const int32_t rows = model.Ints("rows", {3}, {1, 0, 1});
  const int32_t x = model.Input("x", kF32, {2, 2});
  const int32_t y = model.Output("y", kF32, {3, 2});
  model.Node(Op::EMBEDDING_LOOKUP, {rows, x}, {y});
  CHECK(ElementsOf<float>(ComputedMoves(model, Counted(4))[0]) == Floats{3, 4, 1, 2, 3, 4});
}

TEST_CASE("TFLite lowering: RANGE, RANK and ZEROS_LIKE are known at conversion") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {2, 3});
  const int32_t zeros = model.Value("zeros", kF32, {2, 3});
  model.Node(Op::ZEROS_LIKE, {x}, {zeros});
  const int32_t limit = model.Value("limit", kI32, {});
  model.Node(Op::RANK, {x}, {limit});
  const int32_t first = model.Ints("first", {}, {-4});
  const int32_t step = model.Ints("step", {}, {3});
  const int32_t range = model.Output("range", kI32, {2});
  model.Node(Op::RANGE, {first, limit, step}, {range});
  const int32_t y = model.Output("y", kF32, {2, 3});
  model.Node(Op::MAXIMUM, {x, zeros}, {y});
  const auto outputs = ComputedMoves(model, {-1, 2, -3, 4, -5, 6});
  CHECK(ElementsOf<int32_t>(outputs[0]) == std::vector<int32_t>{-4, -1});
  CHECK(ElementsOf<float>(outputs[1]) == Floats{0, 2, 0, 4, 0, 6});
}

TEST_CASE("TFLite lowering: a RANGE that never ends is refused") {
  TfliteBuilder model;
  const int32_t first = model.Ints("first", {}, {1});
  const int32_t limit = model.Ints("limit", {}, {5});
  const int32_t step = model.Ints("step", {}, {-1});
  const int32_t y = model.Output("y", kI32, {1});
  model.Node(Op::RANGE, {first, limit, step}, {y});
  CHECK(model.Text() == "error: node 'y' (RANGE): from 1 to 5 by -1 is no range");
}

TEST_CASE("TFLite lowering: REDUCE_ANY and REDUCE_ALL look at the elements of an axis") {
  for (const Op op : {Op::REDUCE_ANY, Op::REDUCE_ALL}) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kF32, {3, 2});
    const int32_t bools = model.Value("bools", TensorType::BOOL, {3, 2});
    model.Node(Op::CAST, {x}, {bools});
    const int32_t axis = model.Ints("axis", {1}, {1});
    const int32_t y = model.Output("y", TensorType::BOOL, {3});
    model.Node(op, {bools, axis}, {y}, BuiltinOptions::ReducerOptions,
               format::CreateReducerOptions(model.flat, false).Union());
    const auto found = ElementsOf<uint8_t>(ComputedMoves(model, {0, 0, 0, 5, 1, 1})[0]);
    CHECK(found == std::vector<uint8_t>{0, op == Op::REDUCE_ANY ? uint8_t{1} : uint8_t{0}, 1});
  }
}

TEST_CASE("TFLite lowering: LOCAL_RESPONSE_NORMALIZATION multiplies the sum of squares by alpha") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {1, 1, 1, 3});
  const int32_t y = model.Output("y", kF32, {1, 1, 1, 3});
  model.Node(
      Op::LOCAL_RESPONSE_NORMALIZATION, {x}, {y}, BuiltinOptions::LocalResponseNormalizationOptions,
      format::CreateLocalResponseNormalizationOptions(model.flat, 1, 1.0F, 0.5F, 1.0F).Union());
  const Floats found = ElementsOf<float>(ComputedMoves(model, {1, 2, 4})[0]);
  CHECK(found[0] == doctest::Approx(1 / 3.5));
  CHECK(found[1] == doctest::Approx(2 / 11.5));
  CHECK(found[2] == doctest::Approx(4 / 11.0));
}

TEST_CASE("TFLite lowering: ADD_N adds all of its inputs") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {2});
  const int32_t a = model.Floats("a", {2}, {10, 20});
  const int32_t b = model.Floats("b", {2}, {100, 200});
  const int32_t y = model.Output("y", kF32, {2});
  model.Node(Op::ADD_N, {x, a, b}, {y});
  CHECK(ElementsOf<float>(ComputedMoves(model, {1, 2})[0]) == Floats{111, 222});
}

TEST_CASE("TFLite lowering: SPACE_TO_BATCH_ND makes a batch of the places in a block, padded") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {1, 2, 3, 1});
  const int32_t blocks = model.Ints("blocks", {2}, {2, 2});
  const int32_t amounts = model.Ints("amounts", {2, 2}, {0, 0, 0, 1});
  const int32_t y = model.Output("y", kF32, {4, 1, 2, 1});
  model.Node(Op::SPACE_TO_BATCH_ND, {x, blocks, amounts}, {y});
  CHECK(ElementsOf<float>(ComputedMoves(model, Counted(6))[0]) == Floats{1, 3, 2, 0, 4, 6, 5, 0});
}

TEST_CASE("TFLite lowering: BATCH_TO_SPACE_ND undoes it and crops") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {4, 1, 2, 1});
  const int32_t blocks = model.Ints("blocks", {2}, {2, 2});
  const int32_t amounts = model.Ints("amounts", {2, 2}, {0, 0, 0, 1});
  const int32_t y = model.Output("y", kF32, {1, 2, 3, 1});
  model.Node(Op::BATCH_TO_SPACE_ND, {x, blocks, amounts}, {y});
  CHECK(ElementsOf<float>(ComputedMoves(model, {1, 3, 2, 0, 4, 6, 5, 0})[0]) == Counted(6));
}

/// TRANSPOSE_CONV of a row of `inputs` elements by the weights 1, 10, 100 at a stride of 2.
Floats TransposedRow(format::Padding padding, int32_t outputs, const Floats& row) {
  TfliteBuilder model;
  const auto inputs = static_cast<int32_t>(row.size());
  const int32_t shape = model.Ints("shape", {4}, {1, 1, outputs, 1});
  const int32_t w = model.Floats("w", {1, 1, 3, 1}, {1, 10, 100});
  const int32_t x = model.Input("x", kF32, {1, 1, inputs, 1});
  const int32_t b = model.Floats("b", {1}, {0.5F});
  const int32_t y = model.Output("y", kF32, {1, 1, outputs, 1});
  model.Node(Op::TRANSPOSE_CONV, {shape, w, x, b}, {y}, BuiltinOptions::TransposeConvOptions,
             format::CreateTransposeConvOptions(model.flat, padding, 2, 1).Union());
  return ElementsOf<float>(ComputedMoves(model, row)[0]);
}

TEST_CASE("TFLite lowering: TRANSPOSE_CONV adds the weights times each element at its stride") {
  // In full: 1 10 100+2 20 200+3 30 300.
  CHECK(TransposedRow(format::Padding::VALID, 7, {1, 2, 3}) ==
        Floats{1.5F, 10.5F, 102.5F, 20.5F, 203.5F, 30.5F, 300.5F});
  // SAME cuts off (2 * 2 + 3 - 6) / 2 = 0 elements in front and 1 behind.
  CHECK(TransposedRow(format::Padding::SAME, 6, {1, 2, 3}) ==
        Floats{1.5F, 10.5F, 102.5F, 20.5F, 203.5F, 30.5F});
  // And (2 * 2 + 3 - 5) / 2 = 1 on either side.
  CHECK(TransposedRow(format::Padding::SAME, 5, {1, 2, 3}) ==
        Floats{10.5F, 102.5F, 20.5F, 203.5F, 30.5F});
}

TEST_CASE(
    "TFLite lowering: a TRANSPOSE_CONV whose output does not come from its input is refused") {
  TfliteBuilder model;
  const int32_t shape = model.Ints("shape", {4}, {1, 1, 9, 1});
  const int32_t w = model.Floats("w", {1, 1, 3, 1}, {1, 10, 100});
  const int32_t x = model.Input("x", kF32, {1, 1, 3, 1});
  const int32_t y = model.Output("y", kF32, {1, 1, 9, 1});
  model.Node(Op::TRANSPOSE_CONV, {shape, w, x}, {y}, BuiltinOptions::TransposeConvOptions,
             format::CreateTransposeConvOptions(model.flat, format::Padding::VALID, 2, 1).Union());
  CHECK(model.Text().find("9 outputs at a stride of 2 come from 4 inputs, not from 3") !=
        std::string::npos);
}

/// MediaPipe's operator on a row of `inputs` elements by the weights 1, 10, 100; `words`: padding,
/// strides along width and height.
TfliteBuilder BiasedRow(const std::vector<uint8_t>& words, int32_t outputs) {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {1, 1, 3, 1});
  const int32_t w = model.Floats("w", {1, 1, 3, 1}, {1, 10, 100});
  const int32_t b = model.Floats("b", {1}, {0.5F});
  const int32_t y = model.Output("y", kF32, {1, 1, outputs, 1});
  std::vector<uint8_t> options;
  for (const uint8_t word : words) options.insert(options.end(), {word, 0, 0, 0});
  model.Custom("Convolution2DTransposeBias", {x, w, b}, {y}, options);
  return model;
}

TEST_CASE("TFLite lowering: Convolution2DTransposeBias reaches as far as its input does") {
  TfliteBuilder valid = BiasedRow({2, 2, 1}, 7);
  CHECK(ElementsOf<float>(ComputedMoves(valid, {1, 2, 3})[0]) ==
        Floats{1.5F, 10.5F, 102.5F, 20.5F, 203.5F, 30.5F, 300.5F});
  TfliteBuilder same = BiasedRow({1, 2, 1}, 6);
  CHECK(ElementsOf<float>(ComputedMoves(same, {1, 2, 3})[0]) ==
        Floats{1.5F, 10.5F, 102.5F, 20.5F, 203.5F, 30.5F});
}

TEST_CASE("TFLite lowering: Convolution2DTransposeBias with other options is refused") {
  CHECK(BiasedRow({3, 2, 1}, 6).Text().find("padding 3 is not known") != std::string::npos);
  CHECK(BiasedRow({1, 2}, 6).Text().find("its options are not 12 bytes") != std::string::npos);
  CHECK(BiasedRow({1, 0, 1}, 6).Text().find("window 3 with stride 0") != std::string::npos);
}

}  // namespace
}  // namespace tenon::converter::test

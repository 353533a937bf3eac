// What the importer says of files that it cannot take, and that no byte string breaks it.
#include <doctest/doctest.h>

#include "converter/ir/elements.hpp"
#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::TensorType;

/// A quantized convolution, a pooling and a fully connected layer.
std::vector<uint8_t> SmallNet() {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::INT8, {1, 4, 4, 2}, {{0.1F}, {3}});
  std::vector<int32_t> weights(static_cast<size_t>(3 * 3 * 3 * 2));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<int32_t>(i) - 20;
  const int32_t w =
      model.Bytes("w", TensorType::INT8, {3, 3, 3, 2}, weights, {{0.1F, 0.2F, 0.3F}, {0, 0, 0}});
  const int32_t b = model.Ints("b", {3}, {5, -6, 7}, {{0.01F, 0.02F, 0.03F}, {0, 0, 0}});
  const int32_t y = model.Value("y", TensorType::INT8, {1, 4, 4, 3}, {{0.5F}, {-7}});
  model.Node(Op::CONV_2D, {x, w, b}, {y}, format::BuiltinOptions::Conv2DOptions,
             format::CreateConv2DOptions(model.flat, format::Padding::SAME, 1, 1).Union());
  const int32_t p = model.Value("p", TensorType::INT8, {1, 2, 2, 3}, {{0.5F}, {-7}});
  model.Node(Op::AVERAGE_POOL_2D, {y}, {p}, format::BuiltinOptions::Pool2DOptions,
             format::CreatePool2DOptions(model.flat, format::Padding::VALID, 2, 2, 2, 2).Union());
  const int32_t dims = model.Ints("dims", {2}, {1, 12});
  const int32_t r = model.Output("r", TensorType::INT8, {1, 12}, {{0.5F}, {-7}});
  model.Node(Op::RESHAPE, {p, dims}, {r});
  return model.File();
}

/// A model of one node y = op(x), floats.
std::string Unary(Op op) {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::FLOAT32, {2, 3});
  const int32_t y = model.Output("y", TensorType::FLOAT32, {2, 3});
  model.Node(op, {x}, {y});
  return model.Text();
}

TEST_CASE("TFLite: all operators that cannot be converted are listed at once") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::FLOAT32, {2, 3});
  const int32_t a = model.Value("a", TensorType::FLOAT32, {2, 3});
  const int32_t b = model.Value("b", TensorType::FLOAT32, {2, 3});
  const int32_t c = model.Output("c", TensorType::FLOAT32, {2, 3});
  model.Node(Op::UNIQUE, {x}, {a});
  model.Node(Op::SKIP_GRAM, {a}, {b});
  model.Node(Op::UNIQUE, {b}, {c});
  CHECK(model.Text() ==
        "error: the model uses 2 operators that cannot be converted\n"
        "unsupported op SKIP_GRAM (1 times): b\n"
        "unsupported op UNIQUE (2 times): a, c");
}

TEST_CASE("TFLite: operators that are not known yet are called by their numbers") {
  CHECK(Unary(static_cast<Op>(300)) ==
        "error: the model uses an operator that cannot be converted\n"
        "unsupported op operator 300 (1 times): y");
}

TEST_CASE("TFLite: unsigned numbers of 16 bits with a scale are refused, not converted") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::INT16, {2, 3}, {{0.5F}, {0}});
  const int32_t y = model.Output("y", TensorType::UINT16, {3, 2}, {{0.5F}, {0}});
  model.Node(Op::RESHAPE, {x, model.Ints("dims", {2}, {3, 2})}, {y});
  CHECK(model.Text().find("it has a scale, which TFLite gives no u16") != std::string::npos);
}

TEST_CASE("TFLite: what is no model is refused") {
  CHECK(TextOf(ImportBytes({})) == "error: the file is empty");
  CHECK(TextOf(ImportBytes({1, 2, 3})) == "error: not a TFLite model (it does not say TFL3)");
  std::vector<uint8_t> file = SmallNet();
  file.resize(file.size() / 2);
  CHECK(TextOf(ImportBytes(file)).starts_with("error: malformed, or cut short"));
}

TEST_CASE("TFLite: several graphs, sparse tensors and data outside the file are refused") {
  TfliteBuilder model;
  model.Input("x", TensorType::FLOAT32, {2});
  model.Output("y", TensorType::FLOAT32, {2});
  SUBCASE("graphs") {
    model.graphs = 2;
    CHECK(model.Text().starts_with("error: the model has 2 graphs"));
  }
  SUBCASE("sparse") {
    model.sparse = true;
    CHECK(model.Text() == "error: tensor 'y' is sparse, which only constants may be");
  }
  SUBCASE("outside") {
    model.buffer_offset = 4096;
    CHECK(model.Text().starts_with("error: the model keeps weights outside its FlatBuffer"));
  }
}

TEST_CASE("TFLite: a value must be made before it is read, and once") {
  TfliteBuilder early;
  const int32_t x = early.Input("x", TensorType::FLOAT32, {2});
  const int32_t a = early.Value("a", TensorType::FLOAT32, {2});
  const int32_t y = early.Output("y", TensorType::FLOAT32, {2});
  early.Node(Op::RELU, {a}, {y});
  early.Node(Op::RELU, {x}, {a});
  CHECK(early.Text() == "error: malformed: nothing makes tensor 'a' before a node (RELU) reads it");

  TfliteBuilder twice;
  const int32_t x2 = twice.Input("x", TensorType::FLOAT32, {2});
  const int32_t y2 = twice.Output("y", TensorType::FLOAT32, {2});
  twice.Node(Op::RELU, {x2}, {y2});
  twice.Node(Op::RELU, {x2}, {y2});
  CHECK(twice.Text() ==
        "error: malformed: tensor 'y' is made twice, the second time by a node (RELU)");
}

TEST_CASE("TFLite: constants have the size that their dims want") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::FLOAT32, {2});
  const int32_t c = model.Floats("c", {3}, {1.0F, 2.0F});
  const int32_t y = model.Output("y", TensorType::FLOAT32, {2});
  model.Node(Op::ADD, {x, c}, {y});
  CHECK(model.Text() ==
        "error: node 'y' (ADD): tensor 'c': it has 8 bytes of data, its dims want 12");
}

TEST_CASE("TFLite: scales and zero points must make sense") {
  const auto text = [](const Numbers& numbers) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", TensorType::INT8, {2, 3}, numbers);
    const int32_t y = model.Output("y", TensorType::INT8, {2, 3}, {{0.1F}, {0}});
    model.Node(Op::RELU, {x}, {y});
    return model.Text();
  };
  CHECK(text({{-1.0F}, {0}}) == "error: tensor 'x': its scale -1 is not a positive number");
  CHECK(text({{1.0F}, {200}}) == "error: tensor 'x': its zero point 200 is no value of i8");
  CHECK(text({{1.0F, 2.0F}, {0, 0}, 1}) ==
        "error: tensor 'x': it has 2 scales, which no dimension 1 has");
}

TEST_CASE("TFLite: no mutation of a model does more than give a graph or an error") {
  const std::vector<uint8_t> model = SmallNet();
  REQUIRE(ImportBytes(model).ok());
  SplitMix64 random(1);
  int refused = 0;
  constexpr int kTrials = 1500;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<uint8_t> file = model;
    const uint64_t changes = 1 + random.Next() % 4;
    for (uint64_t i = 0; i < changes; ++i) {
      const uint64_t bits = random.Next();
      uint8_t& byte = file[bits % file.size()];
      byte = (bits >> 40 & 1) != 0 ? static_cast<uint8_t>(bits >> 48)
                                   : static_cast<uint8_t>(byte ^ (1U << (bits >> 48 & 7)));
    }
    if (random.Next() % 16 == 0) file.resize(random.Next() % file.size());
    const auto graph = ImportBytes(file);
    if (graph.ok()) {
      CHECK(Verify(*graph).ok());
    } else {
      ++refused;
      CHECK_FALSE(graph.error().message.empty());
      CHECK(graph.error().kind != ErrorKind::kInternal);
    }
  }
  CHECK(refused > kTrials / 10);
  CHECK(refused < kTrials);
}

}  // namespace
}  // namespace tenon::converter::test

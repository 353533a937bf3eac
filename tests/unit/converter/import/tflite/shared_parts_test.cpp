// TFLite files of few bytes that stand for many: parts that tables have in common, loops in loops.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions;
using format::TensorType;

/// A model of one node, which makes tensor 1 of `inputs`; tensor 0 is the model's input, `data` its
/// buffer 1.
std::vector<uint8_t> Finished(flatbuffers::FlatBufferBuilder& flat,
                              const std::vector<flatbuffers::Offset<format::Tensor>>& tensors,
                              const std::vector<int32_t>& inputs, Op op, BuiltinOptions type,
                              flatbuffers::Offset<void> options, const std::vector<uint8_t>& data) {
  const std::vector<int32_t> taken = {0};
  const std::vector<int32_t> given = {1};
  const std::vector<flatbuffers::Offset<format::Operator>> nodes = {
      format::CreateOperatorDirect(flat, 0, &inputs, &given, type, options)};
  const std::vector<flatbuffers::Offset<format::SubGraph>> graphs = {
      format::CreateSubGraphDirect(flat, &tensors, &taken, &given, &nodes, "main")};
  const std::vector<flatbuffers::Offset<format::OperatorCode>> codes = {
      format::CreateOperatorCodeDirect(flat, static_cast<int8_t>(op), nullptr, 1, op)};
  const std::vector<flatbuffers::Offset<format::Buffer>> buffers = {
      format::CreateBuffer(flat), format::CreateBufferDirect(flat, &data)};
  format::FinishModelBuffer(flat,
                            format::CreateModelDirect(flat, 3, &codes, &graphs, "", &buffers));
  return {flat.GetBufferPointer(), flat.GetBufferPointer() + flat.GetSize()};
}

/// y = x and `count` constants, one behind the other; all constants have one name and one buffer.
std::vector<uint8_t> Concatenated(int32_t count, const std::string& name, int32_t floats) {
  flatbuffers::FlatBufferBuilder flat;
  const auto shared_name = flat.CreateString(name);
  const auto shape = flat.CreateVector(std::vector<int32_t>{floats});
  const auto all = flat.CreateVector(std::vector<int32_t>{floats * (count + 1)});
  std::vector<flatbuffers::Offset<format::Tensor>> tensors = {
      format::CreateTensor(flat, shape, TensorType::FLOAT32, 0, flat.CreateString("x")),
      format::CreateTensor(flat, all, TensorType::FLOAT32, 0, flat.CreateString("y"))};
  std::vector<int32_t> inputs = {0};
  for (int32_t i = 0; i < count; ++i) {
    inputs.push_back(static_cast<int32_t>(tensors.size()));
    tensors.push_back(format::CreateTensor(flat, shape, TensorType::FLOAT32, 1, shared_name));
  }
  const auto options = format::CreateConcatenationOptions(flat, 0).Union();
  return Finished(flat, tensors, inputs, Op::CONCATENATION, BuiltinOptions::ConcatenationOptions,
                  options, std::vector<uint8_t>(sizeof(float) * static_cast<size_t>(floats)));
}

/// y = the numbers that x stands for; x's zero point, 3, stands at a multiple of 8 bytes or beside.
std::vector<uint8_t> Dequantized(bool beside) {
  flatbuffers::FlatBufferBuilder flat;
  const std::vector<int32_t> nothing;
  if (beside) flat.CreateVector(nothing);
  // The length of an empty list, 0, is the upper half of the number before it.
  flat.CreateVector(nothing);
  const auto low = flat.CreateVector(std::vector<int32_t>{3});
  const flatbuffers::Offset<flatbuffers::Vector<int64_t>> zero_point(low.o);
  const auto scale = flat.CreateVector(std::vector<float>{0.5F});
  const auto numbers = format::CreateQuantizationParameters(flat, scale, zero_point);
  const auto shape = flat.CreateVector(std::vector<int32_t>{2});
  const std::vector<flatbuffers::Offset<format::Tensor>> tensors = {
      format::CreateTensor(flat, shape, TensorType::INT8, 0, flat.CreateString("x"), numbers),
      format::CreateTensor(flat, shape, TensorType::FLOAT32, 0, flat.CreateString("y"))};
  return Finished(flat, tensors, {0}, Op::DEQUANTIZE, BuiltinOptions::NONE, 0, {});
}

}  // namespace

TEST_CASE("TFLite: a buffer that many tensors share counts against the memory for each of them") {
  ImportOptions options;
  options.max_memory = 100 << 10;
  const auto text = [&](int32_t count) {
    return TextOf(ImportBytes(Concatenated(count, "w", 1 << 10), options));
  };
  CHECK(text(20).find("error: ") == std::string::npos);
  CHECK(text(40).find("at least --max-memory=1M is needed") != std::string::npos);
}

TEST_CASE("TFLite: names that tensors share stand for no more than some times the file") {
  const std::string long_name(100 << 10, 'w');
  CHECK(TextOf(ImportBytes(Concatenated(4, long_name, 1))).find("error: ") == std::string::npos);
  const std::string text = TextOf(ImportBytes(Concatenated(40, long_name, 1)));
  CHECK(text.find("error: malformed: the names and lists of its tensors and nodes take ") == 0);
}

TEST_CASE("TFLite: what a node becomes is called after the first kilobyte of its name") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::FLOAT32, {2, 3});
  const int32_t y = model.Output(std::string(100 << 10, 'y'), TensorType::FLOAT32, {2, 3});
  model.Node(Op::L2_NORMALIZATION, {x}, {y});
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE(graph.ok());
  for (const OpId op : graph->OpOrder()) CHECK(graph->op(op).name.size() < 1100);
}

TEST_CASE("TFLite: a zero point that is not aligned is read as it stands") {
  for (const bool beside : {false, true}) {
    const Result<Graph> graph = ImportBytes(Dequantized(beside));
    REQUIRE_MESSAGE(graph.ok(), graph.error().message);
    CHECK(graph->inputs()[0].scale == 0.5F);
    CHECK(graph->inputs()[0].zero_point == 3);
  }
}

TEST_CASE("TFLite: branches in branches that double each time are refused") {
  constexpr int kDepth = 20;
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::FLOAT32, {2});
  const int32_t y = model.Output("y", TensorType::FLOAT32, {2});
  const int32_t a = model.Value("a", TensorType::FLOAT32, {2});
  const int32_t b = model.Value("b", TensorType::FLOAT32, {2});
  const int32_t c = model.Value("c", TensorType::FLOAT32, {2});
  const int32_t yes = model.Bytes("yes", TensorType::BOOL, {}, {1}, {});
  const auto branch = [&](int32_t graph, int32_t from, int32_t to) {
    model.Node(Op::IF, {yes, from}, {to}, BuiltinOptions::IfOptions,
               format::CreateIfOptions(model.flat, graph, graph).Union());
  };
  for (int32_t i = 1; i < kDepth; ++i) {
    model.Graph({a}, {c}, [&] {
      branch(i + 1, a, b);
      branch(i + 1, b, c);
    });
  }
  model.Graph({a}, {c}, [&] { model.Node(Op::NEG, {a}, {c}); });
  branch(1, x, y);
  CHECK(model.Text().find("its graphs unroll to more than 300000 nodes and tensors") !=
        std::string::npos);
}

TEST_CASE("TFLite: of many nodes of an operator that cannot be converted, some are named") {
  TfliteBuilder model;
  int32_t last = model.Input("x", TensorType::FLOAT32, {2, 3});
  for (int i = 0; i < 70; ++i) {
    const int32_t next = i == 69 ? model.Output("y", TensorType::FLOAT32, {2, 3})
                                 : model.Value("v", TensorType::FLOAT32, {2, 3});
    model.Node(Op::SKIP_GRAM, {last}, {next});
    last = next;
  }
  const std::string text = model.Text();
  CHECK(text.find("unsupported op SKIP_GRAM (70 times): v, v") != std::string::npos);
  CHECK(text.ends_with(", v and 6 more"));
}

TEST_CASE("TFLite: ports of one name get numbers") {
  TfliteBuilder model;
  const int32_t a = model.Input("x", TensorType::FLOAT32, {2});
  const int32_t b = model.Input("x", TensorType::FLOAT32, {2});
  const int32_t c = model.Input("x_2", TensorType::FLOAT32, {2});
  const int32_t y = model.Output("y", TensorType::FLOAT32, {2});
  model.Node(Op::ADD_N, {a, b, c}, {y});
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE(graph.ok());
  CHECK(graph->inputs()[0].name == "x");
  CHECK(graph->inputs()[1].name == "x_2");
  CHECK(graph->inputs()[2].name == "x_2_2");
}

}  // namespace tenon::converter::test
